/** Walks through the sign-in page of the local provider by HTTP, as a browser would: it keeps cookies and follows redirects. */
import { Agent, request } from 'undici';

export interface ProviderWalk {
  /** The address of the start. */
  url: string;
  /** The address at which the walk ends. */
  redirectUri: string;
  login: string;
  password: string;
  /** PEM of the authority of the provider's certificate. */
  authority: string;
}

/** The parameters that the provider adds to the address of the dashboard. */
export interface WalkedAnswer {
  code: string;
  state: string;
  iss?: string;
}

/** More redirects than any sign-in has. */
const mostSteps = 12;

/**
 * @returns the parameters of the address to which the provider sends the browser
 * @throws Error if the provider does not send the browser back, for example after a wrong password
 */
export async function walkThroughProvider({
  url,
  redirectUri,
  login,
  password,
  authority,
}: ProviderWalk): Promise<WalkedAnswer> {
  const dispatcher = new Agent({ connect: { ca: authority } });
  const cookies = new Map<string, string>();
  let next = new URL(url);
  let form: string | undefined;
  try {
    for (let step = 0; step < mostSteps; step++) {
      if (next.href.startsWith(`${redirectUri}?`)) return answerIn(next);
      const { statusCode, headers, body } = await request(next, {
        dispatcher,
        method: form === undefined ? 'GET' : 'POST',
        headers: {
          cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
          ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
        },
        ...(form !== undefined && { body: form }),
      });
      keepCookies(cookies, headers['set-cookie']);
      const page = await body.text();
      const target = [headers.location].flat()[0];
      if (statusCode >= 300 && statusCode < 400 && target !== undefined) {
        form = undefined;
        next = new URL(target, next);
        continue;
      }
      const [, action] = /<form method="post" action="([^"]+)">/.exec(page) ?? [];
      if (statusCode !== 200 || action === undefined || form !== undefined)
        throw new Error(`The provider answered ${statusCode} and did not send the browser back.`);
      form = new URLSearchParams({ login, password }).toString();
      next = new URL(action, next);
    }
    throw new Error('The provider sent the browser around in a circle.');
  } finally {
    await dispatcher.close();
  }
}

function keepCookies(cookies: Map<string, string>, lines: string | string[] | undefined): void {
  for (const line of [lines ?? []].flat()) {
    const [pair = ''] = line.split(';');
    const separator = pair.indexOf('=');
    cookies.set(pair.slice(0, separator), pair.slice(separator + 1));
  }
}

function answerIn({ searchParams }: URL): WalkedAnswer {
  const [code, state, iss] = ['code', 'state', 'iss'].map((name) => searchParams.get(name));
  if (!code || !state) throw new Error(`The provider refused: ${searchParams.get('error') ?? 'no code'}`);
  return { code, state, ...(iss && { iss }) };
}
