/** Metrics of the API process. */
import { Counter, Gauge, Histogram } from 'prom-client';

export const requestDuration = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'Time from the arrival of a request to the end of its handling, by route and status.',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});

export const deprecatedRequests = new Counter({
  name: 'http_deprecated_requests_total',
  help: 'Requests to a deprecated operation, or with a deprecated parameter, by operation and kind of caller: student, admin, key, none.',
  labelNames: ['operation', 'caller'],
});

export const eventStreams = new Gauge({
  name: 'http_event_streams',
  help: 'Streams of events that are open now.',
});

export const eventStreamsRefused = new Counter({
  name: 'http_event_streams_refused_total',
  help: 'Streams that were refused because too many are open: for a student, for a club, or in the process.',
  labelNames: ['reason'],
});

export const mailEvents = new Counter({
  name: 'mail_events_total',
  help: 'Events that mail providers reported. The service ignores an event if it belongs to none of our mails, or is older than 90 days.',
  labelNames: ['outcome'],
});

export const archiveDownloads = new Gauge({
  name: 'archive_downloads',
  help: 'Downloads of archives that run now.',
});

export const archiveDownloadsRefused = new Counter({
  name: 'archive_downloads_refused_total',
  help: 'Downloads of archives that were refused because too many run: for a student, for a club, or in the process.',
  labelNames: ['reason'],
});

export const uploadWrites = new Gauge({
  name: 'upload_writes',
  help: 'Requests that write to resumable uploads now. Each uses two buffers of 8 MB.',
});

export const singleUploadWrites = new Gauge({
  name: 'single_upload_writes',
  help: 'Requests that send a whole file without an announced size now. Their bytes are forwarded immediately.',
});

export const uploadWritesEnded = new Counter({
  name: 'upload_writes_gave_way_total',
  help: 'Writes of resumable uploads that gave their permit to another request because too many ran: for a student, for a club, or in the process.',
  labelNames: ['reason'],
});

export const uploadWritesRefused = new Counter({
  name: 'upload_writes_refused_total',
  help: 'Writes of uploads that were refused because too many run: for a student, for a club, or in the process.',
  labelNames: ['reason'],
});
