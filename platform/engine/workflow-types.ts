/** The one place where workflows are named: an operator who knows a row's id knows its run. */

export const taskQueues = ['webhooks', 'mail', 'sales', 'imports', 'billing', 'agents', 'indexing', 'upkeep'] as const;
export type TaskQueue = (typeof taskQueues)[number];

/**
 * Each workflow type that a row has: the prefix of its ids, and the queue that it runs on. One that `startsEagerly` has somebody
 * waiting: its first wake starts it in the worker that carries the wake, if that has room.
 */
export const workflowTypes = {
  webhookDelivery: { prefix: 'webhook-delivery', taskQueue: 'webhooks' },
  endpointGate: { prefix: 'endpoint-gate', taskQueue: 'webhooks' },
  addOn: { prefix: 'add-on', taskQueue: 'billing' },
  transactionalMail: { prefix: 'transactional-mail', taskQueue: 'mail' },
  salesNotice: { prefix: 'sales-notice', taskQueue: 'sales' },
  subscriptionEnd: { prefix: 'subscription-end', taskQueue: 'sales' },
  studentImport: { prefix: 'student-import', taskQueue: 'imports' },
  agentAnswer: { prefix: 'agent-answer', taskQueue: 'agents', startsEagerly: true },
  sourceIndex: { prefix: 'source-index', taskQueue: 'indexing' },
} as const satisfies Record<string, { prefix: string; taskQueue: TaskQueue; startsEagerly?: true }>;
export type WorkflowType = keyof typeof workflowTypes;

/** The search attributes of a run. Only opaque ids and event types: everybody who sees the Temporal UI sees them. */
export interface WorkflowAttributes {
  ClubId?: string;
  EndpointId?: string;
  EventType?: string;
  AgentId?: string;
}

/** @returns `webhook-delivery/<id of the delivery>`, `endpoint-gate/<id of the endpoint>`, and likewise for each type */
export function workflowIdOf(type: WorkflowType, subjectId: string): string {
  return `${workflowTypes[type].prefix}/${subjectId}`;
}
