/** The middleware layers of a Koa application, each with a name for traces, because most of them are anonymous functions. */
import type Koa from 'koa';
import type { Middleware, RequestState } from './context.ts';

/** @param layers the layers in the order in which they run, by the names of their spans */
export function useLayers(app: Koa<RequestState>, layers: Readonly<Record<string, Middleware>>): void {
  for (const [name, layer] of Object.entries(layers))
    app.use(Object.defineProperty(layer, 'name', { value: name }) as never);
}
