/** A stream that has read events does not send the events of a student who was removed meanwhile (LSN-6). */
import { expect } from 'chai';
import { setTimeout as sleep } from 'node:timers/promises';
import { fanOut } from '../../../../domain/webhooks/events/fan-out.ts';
import { createListeners } from '../../../../domain/webhooks/listeners/listeners.ts';
import { listenerRules } from '../../../../domain/webhooks/listeners/listeners.policy.ts';
import { createLogWatch } from '../../../../domain/webhooks/listeners/log-watch.ts';
import { openEventStream } from '../../../../domain/webhooks/listeners/stream.ts';
import { removeStudent } from '../../../../domain/students/students.ts';
import { newId, type Id } from '../../../../platform/core/ids.ts';
import { buildClub, buildStudent } from '../../../toolkit/builders/clubs.ts';
import { factAbout } from '../../../toolkit/builders/webhooks.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

describe('a stream with a slow reader', function () {
  this.timeout(30_000);

  it('reads the rest again after a second, and skips a student who was removed', async () => {
    const deps = await testDeps();
    const { db, vault } = deps;
    const clock = () => new Date();
    const onFailure = (error: unknown) => {
      throw error;
    };
    const listeners = createListeners({ db, clock, onFailure });
    const logWatch = createLogWatch({ db, onFailure });
    const { id: clubId, owner } = await buildClub();
    const [removed, other] = [await buildStudent(clubId), await buildStudent(clubId)];
    const request = { clubId, caller: { kind: 'administrator', id: owner.id }, types: undefined } as const;
    const open = async (lastEventId: string | undefined) =>
      (
        await openEventStream(
          { db, vault, clock, listeners, logWatch, silenceMs: 15_000 },
          { ...request, lastEventId },
          clock(),
        )
      )(new AbortController().signal);
    const record = async (studentId: Id) => {
      const fact = { ...factAbout({ clubId, studentId }, 'student.updated'), id: newId() };
      await fanOut(db, fact, clock());
      return fact.id;
    };
    const idOf = ({ value }: { value: unknown }) => (value as { data?: { id?: Id } }).data?.id;

    const first = await open(undefined);
    const started = await first.next();
    await first.return(undefined);
    const ids = [await record(other.id), await record(removed.id), await record(other.id)];
    const stream = await open(started.value?.id);
    await stream.next();
    expect(idOf(await stream.next())).to.equal(ids[0]);
    await removeStudent(deps, clubId, removed.id, clock());
    await sleep(listenerRules.pageLastsMs + 100);
    expect(idOf(await stream.next())).to.equal(ids[2]);
    await stream.return(undefined);
    await logWatch.stop();
    await listeners.stop();
  });
});
