/**
 * A program calls with an API key, through the SDK. It gives a student access, and repeats the request with the same key of idempotency. The
 * repetition has no second effect, and the audit log names the key once. Then the program ends the access, and receives the event.
 */
import { randomUUID } from 'node:crypto';
import { createClient, itemsOf, type ClubLearningClient } from '../../../sdk/src/index.ts';
import { Problem } from '../../problem.ts';
import { host } from '../../stack/ports.ts';
import type { Club, Scene } from '../scene.ts';
import { programListens } from './listening.ts';

/** The header of an answer that was kept (IDEM-3). */
const replayHeader = 'Idempotent-Replayed';

/** @param from the number of the scene's first section @throws Problem if the access is given twice, or has not exactly one entry */
export async function programCalls(
  scene: Scene,
  { clubId, token }: Club,
  { studentId, from }: { studentId: string; from: number },
): Promise<void> {
  const { begin, tell, say } = scene;
  const answers: Response[] = [];
  const owner = sdkOf(scene, token, answers);
  const path = { clubId };

  begin(from, 'program.key');
  const { data: created } = await owner.createApiKey({
    path,
    body: { name: 'CRM', scopes: ['deliveries:read', 'enrollments:read', 'enrollments:write', 'events:read'] },
  });
  const { api_key: key, secret } = created;
  tell('program.scopes', { name: key.name, scopes: key.scopes.join(', ') });

  begin(from + 1, 'program.grants');
  const program = sdkOf(scene, secret, answers);
  const delivery = await deliveryOf(program, clubId);
  const body = { student_id: studentId, delivery_id: delivery };
  const idempotencyKey = randomUUID();
  const first = await program.grantEnrollment({ path, body }, { idempotencyKey });
  const second = await program.grantEnrollment({ path, body }, { idempotencyKey });
  const replayed = answers.at(-1)?.headers.get(replayHeader);
  if (replayed !== 'true' || second.data.id !== first.data.id) throw new Problem('The repetition is no kept answer.');
  say(`   Idempotency-Key: ${idempotencyKey}`);
  tell('program.replayed', { header: `${replayHeader}: ${replayed}` });
  const { total } = await program.listEnrollments({ path, query: { student_id: studentId, delivery_id: delivery } });
  if (total !== 1) throw new Problem(`The student got the access ${total} times.`);
  tell('program.effects', { count: total });
  const { data: entries } = await owner.listAuditLog({ path, query: { actor_id: key.id } });
  const [entry] = entries;
  if (entry === undefined || entries.length !== 1) throw new Problem(`The audit log has ${entries.length} entries.`);
  const { operation, fields, created_at: at } = entry;
  tell('program.audit', { actor: entry.actor.kind, operation, fields: fields.join(', '), at });

  const revoke = () => program.revokeEnrollment({ path: { clubId, enrollmentId: first.data.id } });
  await programListens(scene, { clubId, key: secret, revoke }, from + 2);
}

/** The delivery of the course that the sale of the tour opens. @throws Problem if there is none */
async function deliveryOf(program: ClubLearningClient, clubId: string): Promise<string> {
  for await (const { id, opens } of itemsOf(program.listDeliveries, { path: { clubId } }))
    if (opens.kind === 'course') return id;
  throw new Problem('The club has no delivery that opens a course.');
}

/** @param answers gets each answer, because the methods of the SDK return only its body */
function sdkOf({ environment, announce }: Scene, token: string, answers: Response[]): ClubLearningClient {
  const send: typeof fetch = async (input, init) => {
    const answer = await announce(new Request(input, init));
    answers.push(answer);
    return answer;
  };
  return createClient({ baseUrl: `http://${host}:${environment['API_PORT']}`, token, fetch: send });
}
