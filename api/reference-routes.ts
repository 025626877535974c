/** The API reference at `/docs`: a page and its assets, all served from here. */
import { createReadStream } from 'node:fs';
import { referenceAssets, referenceHtml } from '../contract/reference.ts';
import type { Middleware } from './middleware/context.ts';

/** Nothing on the page comes from elsewhere, and nothing may. */
const pagePolicy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'";

export function referenceRoutes(): Middleware {
  return async (context, next) => {
    if (context.method !== 'GET' || !/^\/docs(\/|$)/.test(context.path)) return next();
    context.state.route = '/docs';
    if (context.path === '/docs') {
      context.set('Content-Security-Policy', pagePolicy);
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
