/** An endpoint that fails five times in a row is throttled; once an attempt is accepted, what had to wait goes out. */
import { Problem } from '../problem.ts';
import { deliveriesPath, endpointPath, requireOk, runPage, until, type Club, type Scene } from './scene.ts';

/** Failures in a row that throttle an endpoint (STATE-3). */
const failuresToThrottle = 5;

/** @returns the endpoint, its secret, and the page of its gate's run */
export async function throttledEndpointRecovers(
  scene: Scene,
  { clubId, token }: Club,
  studentId: string,
): Promise<{ endpointId: string; secret: string; gate: string }> {
  const { say, receiver } = scene;
  const administrator = scene.client(token);
  const quiet = scene.quietClient(token);

  say('\n6. An endpoint that is throttled, and recovers');
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
  say(
    `   ${failuresToThrottle} test messages in a row were answered 503: throttled, hold_until ${throttled.hold_until}`,
  );
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
  say(
    `   student.updated has to wait for the breaker: ${waiting.status}, ${(await read()).pending_deliveries} pending`,
  );
  say(`   what its gate waits for: ${gate}`);

  scene.isBroken = false;
  say('   the receiver works again; a resend by hand does not wait for the breaker, and is its probe');
  requireOk(
    await administrator.POST(`${deliveriesPath}/{deliveryId}/resend`, {
      params: { path: { ...path, deliveryId: waiting.id } },
    }),
  );
  const recovered = await until('The end of everything that waited', async () => {
    const now = await read();
    return now.pending_deliveries === 0 ? now : undefined;
  });
  if (recovered.consecutive_failures !== 0 || recovered.hold_until !== undefined)
    throw new Problem('The breaker was not reset.');
  const total = requireOk(await quiet.GET(deliveriesPath, { params: { path, query: { status: 'succeeded' } } })).total;
  say(
    `   accepted: the breaker is at zero, and the gate released the rest; ${total} deliveries succeeded, 0 are pending`,
  );
  return { endpointId: endpoint.id, secret, gate };
}
