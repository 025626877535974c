/** The API reference at `/docs`: a page and its assets, all from this server. */
import { createReadStream } from 'node:fs';
import { referenceAssets, referenceContentSecurityPolicy, referenceHtml } from '../contract/reference.ts';
import type { Middleware } from './middleware/context.ts';

export function referenceRoutes(): Middleware {
  return async (context, next) => {
    if (context.method !== 'GET' || !/^\/docs(\/|$)/.test(context.path)) return next();
    context.state.route = '/docs';
    if (context.path === '/docs') {
      context.set('Content-Security-Policy', referenceContentSecurityPolicy);
      context.type = 'html';
      context.body = referenceHtml();
      return undefined;
    }
    const asset = referenceAssets.get(context.path.slice('/docs/'.length));
    if (!asset) return next();
    context.set('Cache-Control', 'public, max-age=3600');
    context.type = asset.contentType;
    context.body = createReadStream(asset.path);
    return undefined;
  };
}
