/** Runs the fake model in a separate process. The benchmark controls the model, and reads its records, over HTTP. */
import type { Script } from '../../dev/fake-model/fake-model.ts';

/** Times are in milliseconds of the machine's steady clock. */
export interface Sent {
  readonly body: ModelBody;
  readonly outcome: string;
  readonly text: string;
  readonly deltasAt: readonly number[];
  /** The number of characters up to the end of each delta. */
  readonly deltaEnds: readonly number[];
}

export interface ModelBody {
  readonly messages: readonly unknown[];
}

export interface ModelServer {
  readonly url: string;
  /** From now on. */
  obey(script: Script): Promise<void>;
  requests(): Promise<Sent[]>;
}

export function modelServerAt(url: string): ModelServer {
  const call = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}/control${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`The model server answered ${response.status} to ${method} ${path}.`);
    return response;
  };
  return {
    url,
    async obey(script) {
      await call('DELETE', '');
      await call('PUT', '/rules', [{ script }]);
    },
    requests: async () => (await (await call('GET', '/requests')).json()) as Sent[],
  };
}
