/**
 * Scene: an endpoint that fails five times in a row is throttled. After the endpoint has accepted one attempt, the waiting deliveries are
 * sent.
 */
import { Problem } from '../../problem.ts';
import { deliveriesPath, endpointPath, requireOk, runPage, until, type Club, type Scene } from '../scene.ts';

/** The number of failures in a row after which an endpoint is throttled (STATE-3). */
const failuresToThrottle = 5;

/** @returns the endpoint, its secret, and the address of the page in the Temporal UI that shows the run of its gate */
export async function throttledEndpointRecovers(
  scene: Scene,
  { clubId, token }: Club,
  studentId: string,
): Promise<{ endpointId: string; secret: string; gate: string }> {
  const { begin, tell, show, receiver } = scene;
  const administrator = scene.client(token);
  const quiet = scene.quietClient(token);

  begin(6, 'breaker.title');
  const { endpoint, secret } = requireOk(
    await administrator.POST('/v1/clubs/{clubId}/webhook-endpoints', {
      params: { path: { clubId } },
      body: {
        url: `${receiver.url}/hooks/shaky`,
        event_types: ['student.updated'],
        description: 'It is broken just now',
      },
    }),
  ).data;
  const path = { clubId, endpointId: endpoint.id };
  const read = async () => requireOk(await quiet.GET(endpointPath, { params: { path } })).data;
  const gate = runPage(scene, 'endpointGate', endpoint.id);
  scene.isBroken = true;

  for (let test = 1; test <= failuresToThrottle; test++) {
    requireOk(await quiet.POST(`${endpointPath}/test`, { params: { path } }));
    await until(`Failure ${test}`, async () => ((await read()).consecutive_failures >= test ? true : undefined));
  }
  const throttled = await until('The circuit breaker', async () => {
    const now = await read();
    return now.hold_until === undefined ? undefined : now;
  });
  tell('breaker.throttled', { count: failuresToThrottle, until: throttled.hold_until ?? '' });
  requireOk(
    await administrator.PATCH('/v1/clubs/{clubId}/students/{studentId}', {
      params: { path: { clubId, studentId } },
      body: { name: 'Ada Meadow-Lane' },
    }),
  );
  const waiting = await until('The delivery that waits', async () => {
    const { data } = requireOk(
      await quiet.GET(deliveriesPath, { params: { path, query: { event_type: 'student.updated' } } }),
    );
    return data[0];
  });
  const { status } = waiting;
  tell('breaker.waits', { type: 'student.updated', status, count: (await read()).pending_deliveries });
  show(gate, 'breaker.gate');

  scene.isBroken = false;
  tell('breaker.works');
  requireOk(
    await administrator.POST(`${deliveriesPath}/{deliveryId}/resend`, {
      params: { path: { ...path, deliveryId: waiting.id } },
    }),
  );
  const recovered = await until('The end of all waiting deliveries', async () => {
    const now = await read();
    return now.pending_deliveries === 0 ? now : undefined;
  });
  if (recovered.consecutive_failures !== 0 || recovered.hold_until !== undefined)
    throw new Problem('The breaker was not reset.');
  const total = requireOk(await quiet.GET(deliveriesPath, { params: { path, query: { status: 'succeeded' } } })).total;
  tell('breaker.recovered', { count: total });
  return { endpointId: endpoint.id, secret, gate };
}
