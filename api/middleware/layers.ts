/** The layers of an application of Koa, each by its name: a trace shows it, and most of them are functions without one. */
import type Koa from 'koa';
import type { Middleware, RequestState } from './context.ts';

/** @param layers in the order in which a request meets them, by the names that their spans have */
export function useLayers(app: Koa<RequestState>, layers: Readonly<Record<string, Middleware>>): void {
  for (const [name, layer] of Object.entries(layers))
    app.use(Object.defineProperty(layer, 'name', { value: name }) as never);
}
