/** Adds middleware to a Koa application, with names for traces, because most layers are anonymous functions. */
import type Koa from 'koa';
import type { Middleware, RequestState } from './context.ts';

/** @param layers in the order in which they run; the key is the name of the span */
export function useLayers(app: Koa<RequestState>, layers: Readonly<Record<string, Middleware>>): void {
  for (const [name, layer] of Object.entries(layers))
    app.use(Object.defineProperty(layer, 'name', { value: name }) as never);
}
