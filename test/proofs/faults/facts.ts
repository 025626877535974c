/** Facts at a steady pace, whatever is dead just then: what could not be committed is repeated until it is. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../platform/infra/postgres/database.ts';
import { recordFact } from '../../../platform/engine/facts.ts';
import type { Subject } from './audience.ts';

export interface Author {
  /** Facts whose commit is known. */
  readonly committed: number;
  /** Of these, the ones that the API has answered with a 2xx. */
  readonly throughApi: number;
  /** Calls and transactions that failed, and were made again. */
  readonly repeated: number;
  /** Commits the next so many facts, and resolves once all of them are. */
  commit(count: number): Promise<void>;
}

/** One fact in so many is a call of the real API, so that killing the API matters. */
const apiEvery = 4;
const pauseMs = 500;
const answerWithinMs = 10_000;

/** @param everyMs between two facts */
export function factsAbout(
  subjects: readonly Subject[],
  { db, apiUrl, everyMs }: { db: Database; apiUrl: string; everyMs: number },
): Author {
  let begun = 0;
  let committed = 0;
  let throughApi = 0;
  let repeated = 0;

  async function commitNext(): Promise<void> {
    const number = begun++;
    const subject = subjects[number];
    if (subject === undefined) throw new Error('There are no more facts to commit.');
    if (number % apiEvery !== 0) await commitHere(subject);
    else {
      await callApi(subject, number);
      throughApi++;
    }
    committed++;
  }

  /** The change of a name; the same call made again changes nothing, so that it raises one fact however often it is made. */
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
        () => undefined, // killed, before it or while it was answering: the change may be committed or not
      );
      if (status !== undefined && status < 300) return;
      if (status !== undefined && status < 500 && status !== 429) throw new Error(`The API answers ${status}.`);
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
        if (await stands(studentId)) return;
      }
    }
  }

  /** Whether a transaction whose answer was lost has committed: told by Postgres once it is up again. */
  async function stands(studentId: string): Promise<boolean> {
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
        // It is still away.
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
      const under = Array.from({ length: count }, async (_, index) => {
        await sleep(index * everyMs);
        await commitNext();
      });
      await Promise.all(under);
    },
  };
}
