/** Adds middleware layers to a Koa application. Each layer gets a name for traces, because most layers are anonymous functions. */
import type Koa from 'koa';
import type { Middleware, RequestState } from './context.ts';

/** @param layers the layers in the order in which they run; each key is the name of the layer's span */
export function useLayers(app: Koa<RequestState>, layers: Readonly<Record<string, Middleware>>): void {
  for (const [name, layer] of Object.entries(layers))
    app.use(Object.defineProperty(layer, 'name', { value: name }) as never);
}
