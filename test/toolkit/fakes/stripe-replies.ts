/** Answers of the fake payment processor, and what it remembers of idempotency keys. */

export interface StripeReply {
  /** 0 if the call had no effect, and the connection is cut. */
  status: number;
  body: object;
  cut?: boolean;
}

export const failure = (status: number, type: string, more: object = {}): StripeReply => ({
  status,
  body: { error: { type, message: 'It went wrong.', ...more } },
});

interface KeyMemory {
  /** Runs the call, unless its key was used before. */
  once(key: string, request: string, call: () => Promise<StripeReply>): Promise<StripeReply>;
  forget(): void;
}

/**
 * A call with a known key gets the first answer, even the error 500. It is refused if its data differ, or if the first call has not ended. A
 * refusal of invalid data is not remembered, because the call never began.
 */
export function createKeyMemory(): KeyMemory {
  const entries = new Map<string, { request: string; reply: Promise<StripeReply>; done: boolean }>();
  return {
    async once(key, request, call) {
      if (key === '') return call();
      const before = entries.get(key);
      if (before && before.request !== request) return failure(400, 'idempotency_error');
      if (before && !before.done) return failure(409, 'invalid_request_error', { code: 'idempotency_key_in_use' });
      if (before) return { ...(await before.reply), cut: false };
      const reply = call();
      const entry = { request, reply, done: false };
      entries.set(key, entry);
      const finished = await reply;
      entry.done = true;
      // The call had not begun, so the key is free again.
      if (finished.status === 0 || finished.status === 400 || finished.status === 404) entries.delete(key);
      return finished;
    },
    forget: () => entries.clear(),
  };
}
