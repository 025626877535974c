/** Answers with a page to callers that prefer HTML to JSON, as browsers do. The operation itself returns JSON alone. */
import { acceptedLanguage } from '../../domain/language/chosen.ts';
import { defaultLanguage } from '../../domain/language/languages.ts';
import { wordingIn } from '../../domain/language/wording.ts';
import { DomainError } from '../../platform/core/errors.ts';
import type { AnyHtmlPage } from '../page.ts';
import type { Context, Middleware } from './context.ts';

export function asPage(page: AnyHtmlPage): Middleware {
  return async (context, next) => {
    context.vary('Accept');
    if (context.accepts('json', 'html') !== 'html') return next();
    context.querystring = ''; // mail programs and networks add parameters of their own to links that people follow
    try {
      await next();
      show(context, page, page.answer(context.body as never), context.body);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      context.status = error.status;
      const { retryAfterSeconds } = error.headers;
      if (retryAfterSeconds !== undefined) context.set('Retry-After', String(retryAfterSeconds));
      context.vary('Accept-Language');
      const language = acceptedLanguage(context.get('accept-language')) ?? defaultLanguage;
      show(context, page, page.refusal(error, wordingIn(language)), undefined);
    }
    return undefined;
  };
}

function show(context: Context, { contentSecurityPolicy: policy }: AnyHtmlPage, html: string, body: unknown): void {
  context.set('Content-Security-Policy', typeof policy === 'string' ? policy : policy(body as never));
  context.type = 'html';
  context.body = html;
}
