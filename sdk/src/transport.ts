/** Notices broken connections: a JSON answer counts only when it is complete, and a stream must not be silent (SDK-4). */

type Fetch = typeof globalThis.fetch;

/**
 * @param send the global `fetch` if absent
 * @param silenceMs a stream without a byte for this time fails; the service sends one every 15 s
 * @returns a function like `send`, but a JSON answer is complete or fails
 */
export function transportOf(send: Fetch | undefined, silenceMs: number): Fetch {
  return async (...request) => {
    const response = await (send ?? globalThis.fetch)(...request);
    const type = response.headers.get('content-type') ?? '';
    if (response.body === null) return response;
    const { status, statusText, headers } = response;
    if (type.includes('json')) return new Response(await response.arrayBuffer(), { status, statusText, headers });
    if (!type.startsWith('text/event-stream')) return response;
    return new Response(watched(response.body, silenceMs), { status, statusText, headers });
  };
}

/** @returns a stream that fails if no byte arrives in time */
function watched(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  silenceMs: number,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const silence = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(() => reject(new Error(`The stream was silent for ${silenceMs} ms.`)), silenceMs);
      });
      try {
        const chunk = await Promise.race([reader.read(), silence]);
        if (chunk.done) controller.close();
        else controller.enqueue(chunk.value);
      } catch (error) {
        controller.error(error);
        await reader.cancel(error).catch(() => undefined);
      } finally {
        clearTimeout(timer);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
