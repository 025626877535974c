/** Commits facts at a steady pace, even while processes are dead. Repeats a failed commit until the commit succeeds. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import type { Subject } from './audience.ts';

export interface Author {
  readonly committed: number;
  /** The committed facts that the API answered with a 2xx. */
  readonly throughApi: number;
  readonly repeated: number;
  commit(count: number): Promise<void>;
}

/** Every fourth fact comes from a call of the real API, so that a kill of the API has an effect. */
const apiEvery = 4;
const pauseMs = 500;
const answerWithinMs = 10_000;

export function factsAbout(
  subjects: readonly Subject[],
  { db, apiUrl, everyMs }: { db: Database; apiUrl: string; everyMs: number },
): Author {
  let nextFact = 0;
  let committed = 0;
  let throughApi = 0;
  let repeated = 0;

  async function commitNext(): Promise<void> {
    const number = nextFact++;
    const subject = subjects[number];
    if (subject === undefined) throw new Error('All facts are already committed');
    if (number % apiEvery !== 0) await commitHere(subject);
    else {
      await callApi(subject, number);
      throughApi++;
    }
    committed++;
  }

  /** Changes a name through the API. A repeated call changes nothing, so the call and its repetitions together record only one fact. */
  async function callApi({ clubId, studentId, ownerToken }: Subject, number: number): Promise<void> {
    const url = `${apiUrl}/v1/clubs/${clubId}/students/${studentId}`;
    for (;;) {
      const status = await fetch(url, {
        method: 'PATCH',
        headers: { Authorization: `Bearer ${ownerToken}`, 'Content-Type': 'application/json' },
        body: JSON.stringify({ name: `Student ${number}` }),
        signal: AbortSignal.timeout(answerWithinMs),
      }).then(
        async (answer) => {
          await answer.arrayBuffer();
          return answer.status;
        },
        () => undefined, // the API died before or during its answer, so the change may be committed
      );
      if (status !== undefined && status < 300) return;
      if (status !== undefined && status < 500 && status !== 429)
        throw new Error(`The API answered ${status} to a change of a name`);
      repeated++;
      await sleep(pauseMs);
    }
  }

  async function commitHere({ clubId, studentId }: Subject): Promise<void> {
    for (;;) {
      try {
        const occurredAt = new Date();
        await db.transaction((tx) => recordFact(tx, { clubId, studentId, type: 'student.updated', occurredAt }));
        return;
      } catch {
        repeated++;
        if (await isCommitted(studentId)) return;
      }
    }
  }

  /** Waits until Postgres runs again, and returns whether the transaction has committed. */
  async function isCommitted(studentId: string): Promise<boolean> {
    for (;;) {
      await sleep(pauseMs);
      try {
        const [row] = await db.source.query<{ stands: boolean }[]>(
          `SELECT EXISTS (SELECT FROM facts WHERE student_id = $1)
                  OR EXISTS (SELECT FROM webhook_events WHERE student_id = $1) AS stands`,
          [studentId],
        );
        return row?.stands ?? false;
      } catch {
        // Postgres is still down.
      }
    }
  }

  return {
    get committed() {
      return committed;
    },
    get throughApi() {
      return throughApi;
    },
    get repeated() {
      return repeated;
    },
    async commit(count) {
      const commits = Array.from({ length: count }, async (_, index) => {
        await sleep(index * everyMs);
        await commitNext();
      });
      await Promise.all(commits);
    },
  };
}
