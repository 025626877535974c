/** Answers with a page to callers that prefer HTML to JSON, as browsers do. */
import { languageOf } from '../../domain/language/languages.ts';
import { wordingIn } from '../../domain/language/wording.ts';
import type { AnyHtmlPage } from '../page.ts';
import type { ApiDeps, Context, Middleware } from './context.ts';
import { refusalFor } from './errors.ts';
import { languagesOfBrowser } from './reader.ts';

export function asPage(api: Pick<ApiDeps, 'log' | 'deps'>, page: AnyHtmlPage): Middleware {
  return async (context, next) => {
    context.vary('Accept');
    if (context.accepts('json', 'html') !== 'html') return next();
    context.querystring = ''; // ignores the query, because mail programs and ad networks add their own parameters to links
    try {
      await next();
      show(context, page, page.answer(context.body as never), context.body);
    } catch (error) {
      const refusal = refusalFor(api.log, context, error);
      context.status = refusal.status;
      const { retryAfterSeconds } = refusal.headers;
      if (retryAfterSeconds !== undefined) context.set('Retry-After', String(retryAfterSeconds));
      context.vary('Accept-Language');
      const language = languageOf(...(await languagesOfBrowser(api, context, refusal.code)));
      show(context, page, page.refusal(refusal, wordingIn(language)), undefined);
    }
    return undefined;
  };
}

function show(context: Context, { contentSecurityPolicy: policy }: AnyHtmlPage, html: string, body: unknown): void {
  context.set('Content-Security-Policy', typeof policy === 'string' ? policy : policy(body as never));
  context.type = 'html';
  context.body = html;
}
