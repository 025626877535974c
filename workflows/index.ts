/** Every workflow type: the bundle that workers run. */
export { sweep } from './sweep.ts';
export { transactionalMail } from './transactional-mail.ts';
export { webhookDelivery } from './webhook-delivery.ts';
