/**
 * A plugin of the linter and bundler (contract/redocly.yaml). It gives every operation its responses by `responses.ts`, and every list its
 * cursor, before any other rule reads them. So the linter reports a mistake at its location in the path file.
 */
import {
  methods,
  type Method,
  type OperationObject,
  type ParameterObject,
  type PathItem,
  type Reference,
} from '../openapi.ts';
import { listsChanges, recordOfPage, withNextUpdatedSince, withUpdatedSince } from './changes.ts';
import { withCursor } from './cursors.ts';
import { traitsOf } from './error-codes.ts';
import { completeResponses } from './responses.ts';

/** The argument that redocly passes to a visitor. */
interface Context {
  readonly location: Location;
  resolve(entry: ParameterObject | Reference): { readonly node?: ParameterObject };
  report(problem: { readonly message: string; readonly location: Location }): void;
}

interface Location {
  child(keys: readonly string[]): Location;
}

type Parameters = readonly (ParameterObject | Reference)[];

export default function contractPlugin() {
  const visitor = { Paths: { PathItem: { leave: completePathItem } } };
  return { id: 'contract', preprocessors: { oas3: { responses: () => visitor } } };
}

function completePathItem(item: PathItem, context: Context): void {
  for (const method of methods) {
    const operation = item[method];
    if (operation) completeOperation(method, operation, item.parameters ?? [], context);
  }
}

function completeOperation(method: Method, operation: OperationObject, shared: Parameters, context: Context): void {
  const parameters = [...shared, ...(operation.parameters ?? [])].flatMap((entry) => context.resolve(entry).node ?? []);
  try {
    const traits = traitsOf(method, operation, parameters);
    operation.responses = completeResponses(operation, traits);
    const record = recordOfPage(operation.responses);
    const hasChanges = listsChanges(operation, traits, record && context.resolve(record).node);
    if (traits.hasCursor) operation.parameters = withCursor(operation.parameters ?? []);
    if (!hasChanges) return;
    operation.responses = withNextUpdatedSince(operation.operationId, operation.responses);
    operation.parameters = withUpdatedSince(operation.parameters ?? []);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    context.report({ message, location: context.location.child([method, 'responses']) });
  }
}
