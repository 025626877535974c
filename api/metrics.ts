/** Metrics of the API process. */
import { Counter, Gauge, Histogram } from 'prom-client';

export const requestDuration = new Histogram({
  name: 'http_request_duration_seconds',
  help: 'Time from the arrival of a request to the end of its handling, by route and status.',
  labelNames: ['method', 'route', 'status'],
  buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});

export const eventStreams = new Gauge({
  name: 'http_event_streams',
  help: 'Streams of events that are open now.',
});

export const eventStreamsRefused = new Counter({
  name: 'http_event_streams_refused_total',
  help: 'Streams that were refused because too many are open: of one student, of a club, or in the process.',
  labelNames: ['reason'],
});

export const mailEvents = new Counter({
  name: 'mail_events_total',
  help: 'Events that mail providers reported: matched to one of our mails, or ignored, because they match none or are older than 90 days.',
  labelNames: ['outcome'],
});

export const archiveDownloads = new Gauge({
  name: 'archive_downloads',
  help: 'Downloads of archives of repositories that run now.',
});

export const archiveDownloadsRefused = new Counter({
  name: 'archive_downloads_refused_total',
  help: 'Downloads of archives that were refused because too many run: of a student, of a club, or in the process.',
  labelNames: ['reason'],
});

export const uploadWrites = new Gauge({
  name: 'upload_writes',
  help: 'Requests that write to resumable uploads now; each takes two buffers of 8 MB.',
});

export const singleUploadWrites = new Gauge({
  name: 'single_upload_writes',
  help: 'Requests that send a whole file now, whose size was not announced; their bytes pass on as they come.',
});

export const uploadWritesEnded = new Counter({
  name: 'upload_writes_gave_way_total',
  help: 'Requests to write to resumable uploads that gave their place to another one because too many were under way: of a student, of a club, or in the process.',
  labelNames: ['reason'],
});

export const uploadWritesRefused = new Counter({
  name: 'upload_writes_refused_total',
  help: 'Requests to write to uploads that were refused because too many are under way: of a student, of a club, or in the process.',
  labelNames: ['reason'],
});
