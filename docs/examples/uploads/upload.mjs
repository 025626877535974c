/**
 * Uploads a file into a club's library from a browser. Its only dependency is tus-js-client, which videos need: pass its module as
 * `tus`. Leave it out if the page uploads no videos.
 */

/**
 * The default for `memory`, which stores nothing. A page can pass `localStorage` instead, to remember an unfinished upload until the next
 * visit.
 */
const noMemory = { getItem: () => null, setItem() {}, removeItem() {} };

/**
 * @param service `{ base, clubId, token, tus, memory }`: `base` is the API's address, `token` an administrator's session
 * @param file a `File`: `name`, `type` and `size`
 * @param onProgress called with the share that has arrived, from 0 to 1
 * @param signal pauses the upload; a later call with the same file continues it
 * @returns the record of the file: `ready`, or `failed` with its `error`
 */
export async function upload(service, file, { onProgress = () => {}, signal } = {}) {
  const memory = service.memory ?? noMemory;
  const key = `upload ${service.clubId} ${file.name} ${file.size} ${file.lastModified}`;
  const reserved = (await continueUpload(service, memory.getItem(key))) ?? (await reserve(service, file));
  memory.setItem(key, reserved.data.id);
  if (reserved.upload.method === 'tus') await sendInPieces(service, reserved, file, { onProgress, signal });
  else await put(reserved.upload, file, signal);
  onProgress(1);
  const record = await complete(service, reserved.data.id);
  memory.removeItem(key);
  return record;
}

const reserve = (service, file) => call(service, '', { file_name: file.name, mime: file.type, size_bytes: file.size });

/** Asks the service for a new token or address of an upload that was begun earlier. @returns undefined if this upload has ended */
async function continueUpload(service, mediaId) {
  if (mediaId === null) return undefined;
  const renewed = await call(service, `/${mediaId}/upload`).catch(() => undefined);
  return renewed && { ...renewed, hasBegun: true };
}

/** Sends the file in one request. 412 means that an earlier request has already sent the file, and that the answer was lost. */
async function put({ url, headers }, file, signal) {
  const { 'content-length': _, ...others } = headers; // the browser sets this header itself, and forbids scripts to set it
  const answer = await fetch(url, { method: 'PUT', headers: others, body: file, signal });
  if (!answer.ok && answer.status !== 412) throw new Error(`The store answered ${answer.status}.`);
}

/** Continues after every break. The token is valid for 24 hours; a longer upload renews it. */
function sendInPieces(service, reserved, file, { onProgress, signal }) {
  let { upload: descriptor } = reserved;
  return new Promise((resolve, reject) => {
    const sending = new service.tus.Upload(file, {
      endpoint: descriptor.url,
      uploadUrl: reserved.hasBegun ? `${descriptor.url}/${reserved.data.id}` : null,
      storeFingerprintForResuming: false, // tus need not remember the address of the upload, because this address never changes
      retryDelays: [0, 1_000, 3_000, 5_000, 10_000, 30_000],
      async onBeforeRequest(request) {
        if (Date.now() > Date.parse(descriptor.expires_at) - 60_000)
          ({ upload: descriptor } = await call(service, `/${reserved.data.id}/upload`));
        for (const [name, value] of Object.entries(descriptor.headers)) request.setHeader(name, value);
      },
      onProgress: (sentBytes, allBytes) => onProgress(sentBytes / allBytes),
      onSuccess: resolve,
      onError: reject,
    });
    signal?.addEventListener('abort', () => sending.abort().then(() => reject(signal.reason), reject));
    sending.start();
  });
}

/** Asks until the service has examined the file. */
async function complete(service, mediaId) {
  for (;;) {
    const { data } = await call(service, `/${mediaId}/complete`);
    if (data.status === 'ready' || data.status === 'failed') return data;
    await new Promise((resolve) => setTimeout(resolve, 2_000));
  }
}

async function call({ base, clubId, token }, path, body) {
  const answer = await fetch(`${base}/v1/clubs/${clubId}/media${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const content = await answer.json();
  if (!answer.ok) throw new Error(`${content.error.code}: ${content.error.message}`);
  return content;
}
