/** The API reference at `/docs`: the contract in swagger-ui, served by this process, without inline scripts or styles. */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface ReferenceAsset {
  /** The absolute path of the file. */
  readonly path: string;
  readonly contentType: string;
}

const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const own = fileURLToPath(new URL('reference', import.meta.url));

const css = 'text/css; charset=utf-8';
const javascript = 'text/javascript; charset=utf-8';

/** Files that the page loads, by their names under `/docs/`. Any other name does not exist. */
export const referenceAssets: ReadonlyMap<string, ReferenceAsset> = new Map([
  ['swagger-ui.css', { path: join(swaggerUi, 'swagger-ui.css'), contentType: css }],
  ['swagger-ui-bundle.js', { path: join(swaggerUi, 'swagger-ui-bundle.js'), contentType: javascript }],
  ['style.css', { path: join(own, 'style.css'), contentType: css }],
  ['start.js', { path: join(own, 'start.js'), contentType: javascript }],
  ['favicon.png', { path: join(swaggerUi, 'favicon-32x32.png'), contentType: 'image/png' }],
]);

/** The `Content-Security-Policy` of the page, which allows only this service. The icons of swagger-ui are `data:` URLs. */
export const referenceContentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The page at `/docs`. It reads the contract from `/v1/openapi.json` of the service that serves it. */
export function referenceHtml(): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Club Learning Platform API</title>
    <link rel="icon" href="/docs/favicon.png">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="stylesheet" href="/docs/style.css">
    <script src="/docs/swagger-ui-bundle.js" defer></script>
    <script src="/docs/start.js" type="module"></script>
  </head>
  <body>
    <main id="reference"></main>
    <noscript><p>This page needs JavaScript. The contract itself is at <a href="/v1/openapi.json">/v1/openapi.json</a>.</p></noscript>
  </body>
</html>
`;
}
