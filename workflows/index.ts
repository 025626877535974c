/** Every workflow type: the bundle that workers run. */
export { addOn } from './add-on.ts';
export { agentAnswer } from './agent-answer.ts';
export { endpointGate } from './endpoint-gate.ts';
export { retention } from './retention.ts';
export { salesNotice } from './sales-notice.ts';
export { sourceIndex } from './source-index.ts';
export { subscriptionEnd } from './subscription-end.ts';
export { studentImport } from './student-import.ts';
export { sweep } from './sweep.ts';
export { transactionalMail } from './transactional-mail.ts';
export { webhookDelivery } from './webhook-delivery.ts';
