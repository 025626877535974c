/** The contract for the rest of the service: its text, operations, checks and types. */
export { Binary } from './binary.ts';
export { EventStream, type StreamEvent, type StreamPosition } from './event-stream.ts';
export { Redirect } from './redirect.ts';
export { contractText } from './document.ts';
export { keptFormOf } from './kept-answers.ts';
export type { CallerKind, Deprecation, Method } from './openapi.ts';
export { contractOperations, type ContractOperation, type FileBody, type OperationId } from './operations.ts';
export { keyHeader, replayHeader } from './rules/idempotency.ts';
export type { BodyOf, EventBodyOf, ParamsOf, QueryOf, RecordOf, ResponseOf } from './shapes.ts';
export { compileValidators, type Checked, type Validators } from './validators.ts';
