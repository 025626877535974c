/** The scenario of codes to telephone numbers: a receiver accepts, refuses and loses messages, and administrators change their number. */
import { requestPhoneCode } from '../../../../domain/identity/phones/codes.ts';
import type { PhoneAnswer } from '../../../../domain/identity/phones/sending.ts';
import { updateProfile } from '../../../../domain/identity/accounts/profiles.ts';
import { DomainError } from '../../../../platform/core/errors.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import type { ObjectStore } from '../../../../platform/infra/store/object-store.ts';
import type { Simulation } from '../simulation.ts';
import { mustHold, type Command, type Stage } from '../stage.ts';
import type { Footing } from './ground.ts';

type Mood = 'accepts' | 'refuses' | 'is away' | 'loses its answer';

const answers: Readonly<Record<Mood, PhoneAnswer>> = {
  accepts: { outcome: 'succeeded', responseStatus: 204 },
  refuses: { outcome: 'http_error', responseStatus: 400 },
  'is away': { outcome: 'connection_error', errorCode: 'ECONNREFUSED' },
  'loses its answer': { outcome: 'timeout' },
};

const numbers = ['+351912345670', '+351912345671', '+351912345672'] as const;

export async function phoneCodes(sim: Simulation, { vault }: Footing): Promise<Stage> {
  const now = () => new Date(sim.time.now);
  const administrators: Id[] = [];
  for (const number of numbers.slice(0, 2)) {
    const id = newId();
    administrators.push(id);
    await sim.postgres.ask(
      `INSERT INTO administrators (id, name, email, phone, created_at) VALUES ($1, 'Ada', $2, $3, $4)`,
      [id, `${id}@example.com`, number, now()],
    );
  }
  const storage = { signGet: async () => 'https://files.test/' } as unknown as ObjectStore;
  let mood: Mood = 'accepts';
  /** The numbers of the accepted messages, by the id of the code. */
  const accepted = new Map<Id, string[]>();

  const postCode = ({ id, body }: { id: Id; body: string }) =>
    sim.outside(`code ${id}`, () => {
      const { phone } = (JSON.parse(body) as { data: { phone: string } }).data;
      if (mood === 'accepts' || mood === 'loses its answer') accepted.set(id, [...(accepted.get(id) ?? []), phone]);
      return answers[mood];
    });

  const setMood = (next: Mood): Command => ({
    label: `the receiver ${next}`,
    run() {
      mood = next;
    },
  });

  return {
    types: ['phoneCode'],
    horizonMs: 86_400_000,
    depsFor: (db) => ({ phoneCodes: { db, vault, postCode, onOutcome: () => {} } }),
    command(decisions) {
      const administratorId = decisions.pick(administrators);
      const which = decisions.choose(8);
      if (which < 3)
        return {
          label: `${administratorId} requests a code`,
          async run() {
            const deps = { db: sim.db, vault, phoneCodes: { isConfigured: true, perDay: 6 } };
            await requestPhoneCode(deps, administratorId, now()).catch(unlessLimited);
          },
        };
      if (which === 3) {
        const phone = decisions.pick(numbers);
        return {
          label: `${administratorId} has the number ${phone}`,
          run: async () =>
            void (await updateProfile({ db: sim.db, vault, storage }, administratorId, { phone }, now())),
        };
      }
      return setMood((['accepts', 'refuses', 'is away', 'loses its answer'] as const)[which - 4] ?? 'accepts');
    },
    calm: () => [setMood('accepts')],
    async atEnd() {
      const rows = await sim.postgres.ask<{ id: Id; status: string; fence: number }>(
        `SELECT id, status, fence FROM phone_codes`,
      );
      for (const { id, status, fence } of rows) {
        const times = accepted.get(id)?.length ?? 0;
        mustHold(status !== 'pending', 'all work ends', () => `code ${id} is pending`);
        mustHold(
          status !== 'sent' || times > 0,
          'a recorded effect has happened',
          () => `code ${id} is sent, but the receiver has not accepted it`,
        );
        mustHold(
          times <= fence,
          'an effect that happened is recorded',
          () => `code ${id}: ${times} of ${fence} claims`,
        );
        mustHold(
          new Set(accepted.get(id)).size <= 1,
          'one code goes to one number',
          () => `code ${id} went to several numbers`,
        );
      }
      mustHold(
        [...accepted.keys()].every((id) => rows.some((row) => row.id === id)),
        'an effect that happened is recorded',
        () => 'a code without a row was sent',
      );
      mustHold(
        rows.length <= 6,
        'a limit holds',
        () => `there are ${rows.length} codes in a day, but only 6 are allowed`,
      );
    },
  };
}

function unlessLimited(error: unknown): void {
  if (!(error instanceof DomainError && error.code === 'rate_limited')) throw error;
}
