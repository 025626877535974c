/** The calls of students. If an answer is lost, the student first reads whether the call took effect, and only then repeats the call. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Id } from '../../../../platform/core/ids.ts';
import type { OfferedMentorship, Student } from './scene.ts';

interface OwnSession {
  id: Id;
  status: string;
  starts_at: string;
  mentorship: { public_id: string };
}

/** An answer of the API; undefined after a fault or without an answer. */
type Answer = { status: number; code: string; data: unknown } | undefined;

type Booked = { kind: 'won'; sessionId: Id } | { kind: 'taken' | 'limited' };

export interface Booker {
  readonly lost: number;
  /** The number of calls that took effect although their answer was lost. */
  readonly hadWorked: number;
  /** @param replaces the session to move to this time */
  book(student: Student, mentorship: OfferedMentorship, startsAt: Date, replaces?: Id): Promise<Booked>;
  /** @returns whether the session is canceled; false if the student has reached the hourly limit */
  cancel(student: Student, mentorship: OfferedMentorship, sessionId: Id): Promise<boolean>;
  /** The owner of the club removes the student. */
  remove(student: Student): Promise<boolean>;
}

const answerWithinMs = 10_000;
const pauseMs = 300;
const limitedMs = 3_000;

export function createBooker(apiUrl: string): Booker {
  let [lost, hadWorked] = [0, 0];

  const call = ({ clubId, token }: Student, method: string, at: string, body?: object) =>
    send(`/v1/clubs/${clubId}/classroom${at}`, token, method, body);

  async function send(path: string, token: string, method: string, body?: object): Promise<Answer> {
    try {
      const answer = await fetch(`${apiUrl}${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(answerWithinMs),
      });
      if (answer.status === 204) return { status: 204, code: '', data: undefined };
      const { data, error } = (await answer.json()) as { data?: unknown; error?: { code: string } };
      return answer.status < 500 ? { status: answer.status, code: error?.code ?? '', data } : undefined;
    } catch {
      return undefined; // the API, or Postgres behind the API, is dead
    }
  }

  async function sessionsOf(student: Student): Promise<OwnSession[]> {
    for (;;) {
      const answer = await call(student, 'GET', '/mentorship-sessions?page_size=100');
      if (answer?.status === 200) return answer.data as OwnSession[];
      if (answer && answer.status !== 429) throw new Error(`Reading sessions returned ${answer.status} ${answer.code}`);
      await sleep(pauseMs);
    }
  }

  /** @param findSession finds the session that the call writes */
  async function untilKnown<T>(
    student: Student,
    write: () => Promise<Answer>,
    findSession: (sessions: readonly OwnSession[]) => T | undefined,
    read: (answer: NonNullable<Answer>) => T,
  ): Promise<T> {
    for (let tries = 1; ; tries++) {
      const answer = await write();
      // The first call may have committed after the sessions were read. In that case a refusal of the second call says nothing about
      // the first call.
      if (answer && (tries === 1 || answer.status < 300)) return read(answer);
      if (!answer) lost += 1;
      const session = findSession(await sessionsOf(student));
      if (session !== undefined) hadWorked += 1;
      if (session !== undefined) return session;
      if (answer) return read(answer);
      await sleep(pauseMs);
    }
  }

  return {
    get lost() {
      return lost;
    },
    get hadWorked() {
      return hadWorked;
    },
    book(student, { publicId }, startsAt, replaces) {
      const body = { starts_at: startsAt.toISOString(), ...(replaces !== undefined && { replaces }) };
      const isThis = ({ status, starts_at, mentorship }: OwnSession) =>
        status === 'booked' && starts_at === body.starts_at && mentorship.public_id === publicId;
      return untilKnown<Booked>(
        student,
        () => call(student, 'POST', `/mentorships/${publicId}/bookings`, body),
        (sessions) => {
          const own = sessions.find(isThis);
          return own && { kind: 'won', sessionId: own.id };
        },
        ({ status, code, data }) => {
          if (status === 201) return { kind: 'won', sessionId: (data as OwnSession).id };
          if (code === 'slot_taken') return { kind: 'taken' };
          if (code === 'rate_limited') return { kind: 'limited' };
          throw new Error(`A booking was refused: ${status} ${code}`);
        },
      );
    },
    cancel(student, { publicId }, sessionId) {
      return untilKnown<boolean>(
        student,
        () => call(student, 'DELETE', `/mentorships/${publicId}/sessions/${sessionId}`),
        (sessions) => sessions.some(({ id, status }) => id === sessionId && status === 'canceled') || undefined,
        ({ status, code }) => {
          if (status === 200) return true;
          if (code === 'rate_limited') return false;
          throw new Error(`Canceling a session returned ${status} ${code}`);
        },
      );
    },
    async remove({ id, clubId, ownerToken }) {
      for (let tries = 1; ; tries++) {
        const answer = await send(`/v1/clubs/${clubId}/students/${id}`, ownerToken, 'DELETE');
        // If the answer to the first call was lost, the student may already be removed.
        if (answer?.status === 204 || (answer?.status === 404 && tries > 1)) return true;
        if (answer && answer.status !== 429)
          throw new Error(`Removing a student returned ${answer.status} ${answer.code}`);
        if (!answer) lost += 1;
        await sleep(answer ? limitedMs : pauseMs);
      }
    },
  };
}
