/** The bare engine, in a separate process. It starts workflows eagerly, as many in parallel as the relay. */
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { maxInFlight } from '../../worker/relay/relay.ts';
import { slots } from '../../worker/temporal/task-queues.ts';

const { TEMPORAL_ADDRESS: address = '', TEMPORAL_NAMESPACE: namespace = '', CEILING_PORT: port = '0' } = process.env;

Runtime.install({ logger: new DefaultLogger('WARN') });
const connection = await NativeConnection.connect({ address });
const { workflow } = new Client({ connection, namespace });
const worker = await Worker.create({
  connection,
  namespace,
  taskQueue: 'ceiling',
  workflowsPath: fileURLToPath(new URL('workflows.ts', import.meta.url)),
  activities: { async nothing() {} },
  maxConcurrentWorkflowTaskExecutions: slots.webhooks.workflowTasks,
  maxConcurrentLocalActivityExecutions: slots.webhooks.workflowTasks,
});
void worker.run();

createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  if (pathname === '/readyz') response.end('ready');
  else {
    const [count, steps] = ['count', 'steps'].map((name) => Number(searchParams.get(name)));
    void runAll(count ?? 0, steps ?? 0).then((perSecond) => response.end(JSON.stringify({ perSecond })));
  }
}).listen(Number(port), '127.0.0.1');

/**
 * @param steps ordinary activities of each workflow; 0 for one local activity
 * @returns workflows a second
 */
async function runAll(count: number, steps: number): Promise<number> {
  const started = performance.now();
  let remaining = count;
  const runOneAfterAnother = async () => {
    while (remaining > 0) {
      remaining--;
      const options = { workflowId: `ceiling/${crypto.randomUUID()}`, taskQueue: 'ceiling', requestEagerStart: true };
      await (steps > 0
        ? workflow.execute('bareSteps', { ...options, args: [steps] })
        : workflow.execute('bareDelivery', options));
    }
  };
  await Promise.all(Array.from({ length: maxInFlight }, runOneAfterAnother));
  return (count * 1_000) / (performance.now() - started);
}
