/** Scene: the secret of an endpoint is rotated. For 24 hours, each message has two signatures, one with each secret. */
import { requireOk, endpointPath, patienceMs, tellAttempt, type Club, type Scene } from '../scene.ts';

export async function secretIsRotated(
  scene: Scene,
  { clubId, token }: Club,
  { endpointId, secret }: { endpointId: string; secret: string },
): Promise<void> {
  const { begin, tell, receiver } = scene;
  const administrator = scene.client(token);
  const params = { path: { clubId, endpointId } };

  begin(7, 'rotation.title');
  const rotated = requireOk(
    await administrator.POST(`${endpointPath}/rotate-secret`, { params, body: { expire_previous: false } }),
  ).data;
  tell('rotation.until', { until: rotated.endpoint.previous_secret_expires_at ?? '' });
  const before = receiver.requests.length;
  requireOk(await administrator.POST(`${endpointPath}/test`, { params }));
  const requests = await receiver.waitFor(before + 1, patienceMs);
  tellAttempt(scene, requests.at(-1), 200, [secret, rotated.secret]);
}
