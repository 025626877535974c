/**
 * Tests the event stream of an answer: its format, periods without events, shutdown, and clients that disconnect, return or read slowly.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { startApi, type RunningApi } from '../../api/server.ts';
import type { AnswerFeed } from '../../domain/agents/answers/answer-feed.ts';
import { newId } from '../../platform/core/ids.ts';
import { eachCase } from '../toolkit/assert/each-case.ts';
import { buildLearner } from '../toolkit/builders/access.ts';
import { appendWords, endAnswer, failAnswer, deleteLog, notifyStreams } from '../toolkit/drive/answers.ts';
import { call, callAt, clock, expectError, testApi, testConfig } from '../toolkit/drive/api.ts';
import { askingOf, openAskingClassroom, type AskingClassroom } from '../toolkit/drive/asking.ts';
import { closeStreams } from '../toolkit/drive/event-stream.ts';
import { until } from '../toolkit/drive/until.ts';
import { startPostgresLine } from '../toolkit/fakes/postgres-line.ts';
import { withoutTimersOf } from '../toolkit/fakes/timers.ts';
import { serveApp } from '../toolkit/stack/app.ts';
import { rowCounts, testDatabase } from '../toolkit/stack/database.ts';
import { expect } from 'chai';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { register } from 'prom-client';

const second = 1_000;

describe('answer streams', () => {
  let classroom: AskingClassroom;
  beforeEach(async () => {
    classroom = await openAskingClassroom();
  });

  const baseOf = ({ port }: RunningApi) => `http://127.0.0.1:${port}`;
  const at = (base: string) => askingOf(classroom.openAgent, classroom.student, base);

  const openStreams = async () => (await register.getSingleMetric('http_event_streams')?.get())?.values[0]?.value ?? 0;

  /** The API notices with a delay that a client disconnected. Until then the API still counts the streams of earlier tests. */
  async function noStreams(): Promise<void> {
    closeStreams();
    await until('all streams to be closed', { timeoutMs: 15 * second }, async () => (await openStreams()) === 0);
  }

  async function withApi(
    options: Parameters<typeof startApi>[1] & { env?: Record<string, string> },
    work: (base: string, api: RunningApi) => Promise<void>,
  ): Promise<void> {
    const api = await startApi(await testConfig(options.env ?? {}), options);
    try {
      await work(baseOf(api), api);
    } finally {
      await api.stop();
    }
  }

  describe('the form of the stream', () => {
    it('contains an event line, a data line and a blank line for each event', async () => {
      const { stream, answerId } = await classroom.ask();
      const text = 'line\nline\r\n\rdata: no\n\nevent: no\u2028\u2029\u0085: "quoted" \\ 🪢 \u{1F468}\u200D\u{1F469}';
      await appendWords(answerId, text);
      await stream.textOf(Array.from(text).length);
      await endAnswer(answerId);
      await stream.ended;
      expect(stream.raw()).to.match(/^(event: (accepted|delta|done|error)\ndata: \{[^\r\n]*\}\n\n)+$/);
      expect(stream.text()).to.equal(text);
      expect((await stream.event('done')).data.answer.content).to.equal(text);
    });

    it('forbids proxies to store, buffer or compress the stream', async () => {
      const { stream } = await classroom.ask(); // a client that accepts gzip
      expect(stream.headers).to.include({
        'content-type': 'text/event-stream',
        'x-accel-buffering': 'no',
        'cache-control': 'no-store, no-transform',
        'transfer-encoding': 'chunked',
      });
      expect(stream.headers).to.not.have.any.keys('content-encoding', 'content-length');
    });

    it('begins with headers immediately, even if no event is ready', async () => {
      const question = await classroom.ask();
      await withApi({ streamHeartbeatMs: 600 * second }, async (base) => {
        const stream = await at(base).reattach(question); // The call resolves with the headers. The next comment would come after 10 minutes.
        expect([stream.status, stream.raw()]).to.deep.equal([200, '']);
        stream.close();
      });
    });

    it('consists only of the headers for a HEAD request', async () => {
      const { conversationId, answerId } = await classroom.ask();
      const { token } = classroom.student;
      const path = `/v1/clubs/${classroom.club.id}/classroom/conversations/${conversationId}/messages/${answerId}/stream`;
      const { port } = await testApi();
      await noStreams();
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${token}` },
      });
      expect([response.status, response.headers.get('content-type')]).to.deep.equal([200, 'text/event-stream']);
      expect(await openStreams()).to.equal(0);
    });

    it('contains comments, but no events, while there is no new text', async () => {
      await withApi({ streamHeartbeatMs: 30 }, async (base) => {
        const { stream, answerId } = await at(base).ask();
        await until('three comments', { timeoutMs: 5 * second }, async () => stream.comments.length >= 3);
        await appendWords(answerId, 'Still here');
        await stream.textOf(10);
        const before = stream.comments.length;
        await until('a comment after new text', { timeoutMs: 5 * second }, async () => stream.comments.length > before);
        await endAnswer(answerId);
        await stream.event('done');
        expect(stream.raw()).to.match(/^(event: \w+\ndata: \{.*\}\n\n|: still here\n\n)+$/);
        expect(stream.events.map(({ event }) => event)).to.deep.equal(['accepted', 'delta', 'done']);
      });
    });
  });

  describe('GET …/conversations/{conversationId}/messages/{messageId}/stream', () => {
    it('starts at the given position without `accepted`, and sends only the text after this position', async () => {
      const question = await classroom.ask();
      await appendWords(question.answerId, 'A knot ', 'is 🪢 a ');
      const all = await classroom.reattach(question);
      const rest = await classroom.reattach(question, 4); // a position inside a stored piece of the text
      const beyondTheKnot = await classroom.reattach(question, 11); // Positions count code points, not UTF-16 units.
      expect(await all.textOf(14)).to.equal('A knot is 🪢 a ');
      await endAnswer(question.answerId, { text: '*bend*' });
      const streams = [all, rest, beyondTheKnot];
      for (const stream of streams) await stream.event('done');
      expect(streams.map((stream) => stream.text())).to.deep.equal([
        'A knot is 🪢 a *bend*',
        'ot is 🪢 a *bend*',
        ' a *bend*',
      ]);
      await eachCase(streams, ({ events }) => expect(events.map(({ event }) => event)).to.not.include('accepted'));
    });

    it('waits for new text if the position is the end of the text', async () => {
      const question = await classroom.ask();
      await appendWords(question.answerId, 'So far');
      const stream = await classroom.reattach(question, 6);
      await appendWords(question.answerId, ', so good');
      expect(await stream.textOf(9)).to.equal(', so good');
    });

    it('sends the rest of a finished answer and its last event, even if the log of its words is deleted', async () => {
      await eachCase([false, true], async (deleted) => {
        const complete = await classroom.ask();
        const failed = await classroom.ask();
        await appendWords(complete.answerId, 'Tied ', 'and');
        await endAnswer(complete.answerId, { text: ' done 🪢' });
        await appendWords(failed.answerId, 'Broke');
        await failAnswer(failed.answerId, 'interrupted');
        if (deleted) for (const { answerId } of [complete, failed]) await deleteLog(answerId);
        for (let from = 0; from <= 15; from++) {
          const stream = await classroom.reattach(complete, from);
          expect((await stream.event('done')).data.answer.content, `from ${from}`).to.equal('Tied and done 🪢');
          expect(stream.text(), `from ${from}`).to.equal(Array.from('Tied and done 🪢').slice(from).join(''));
        }
        const broken = await classroom.reattach(failed, 3);
        expect((await broken.event('error')).data.answer.content).to.equal('Broke');
        expect(broken.text()).to.equal('ke');
        expect(await broken.ended).to.equal('whole');
      });
    });

    it('sends a long text completely in several pieces', async () => {
      const question = await classroom.ask();
      const text = '🪢 bends and hitches '.repeat(4_000);
      await appendWords(question.answerId, ...(text.match(/.{1,100}/gsu) ?? []));
      const under = await classroom.reattach(question, 1);
      await endAnswer(question.answerId);
      const after = await classroom.reattach(question, 2);
      for (const [stream, from] of [
        [question.stream, 0],
        [under, 1],
        [after, 2],
      ] as const) {
        await stream.event('done');
        expect(stream.text() === Array.from(text).slice(from).join(''), `from ${from}`).to.equal(true);
      }
      expect(after.events.length).to.be.above(3);
    });

    it('accepts the id of the question instead of the id of its answer, in any letter case', async () => {
      const { conversationId, data, answerId } = await classroom.ask();
      await endAnswer(answerId, { text: 'Yes.' });
      const stream = await classroom.reattach({
        conversationId: conversationId.toUpperCase(),
        answerId: data.question.id.toUpperCase(),
      });
      expect((await stream.event('done')).data.answer.id).to.equal(answerId);
    });

    it('returns 422 for a position after the text, 400 for no number, and 404 for a message without access', async () => {
      const { conversationId, answerId } = await classroom.ask();
      await appendWords(answerId, 'abc');
      await eachCase(['4', '2147483647', '-1', '99999999999'], async (from) =>
        expectError(await classroom.refusedStream(conversationId, answerId, `?from=${from}`), 'invalid_request'),
      );
      await eachCase(['', 'x', '1.5'], async (from) =>
        expectError(await classroom.refusedStream(conversationId, answerId, `?from=${from}`), 'malformed_request'),
      );
      await endAnswer(answerId);
      expectError(await classroom.refusedStream(conversationId, answerId, '?from=4'), 'invalid_request');
      const other = await classroom.ask();
      const stranger = askingOf(classroom.openAgent, await buildLearner(classroom.openAgent));
      await eachCase(
        [
          await classroom.refusedStream(conversationId, other.answerId),
          await classroom.refusedStream(conversationId, newId()),
          await classroom.refusedStream(newId(), answerId),
          await stranger.refusedStream(conversationId, answerId),
        ],
        (answer) => expectError(answer, 'not_found'),
      );
    });
  });

  describe('a client that disconnects', () => {
    it('does not stop the answer, and the API closes its streams', async () => {
      await noStreams();
      const question = await classroom.ask();
      const again = await classroom.reattach(question);
      expect(await openStreams()).to.equal(2);
      question.stream.close();
      again.close();
      await until('the streams to be closed', { timeoutMs: 15 * second }, async () => (await openStreams()) === 0);
      await endAnswer(question.answerId, { text: 'Nobody listens.' });
      const [, answer] = (await classroom.conversation(question.conversationId)).body.data.messages;
      expect(answer).to.include({ status: 'complete', content: 'Nobody listens.' });
    });
  });

  describe('a client that reads slowly', () => {
    it('gets the whole text, while the API does not read far ahead from Postgres', async function () {
      this.timeout(60 * second);
      const megabytes = 30;
      let readCharacters = 0;
      const counting = (feed: AnswerFeed): AnswerFeed => ({
        ...feed,
        async *follow(...followed) {
          const parts = feed.follow(...followed);
          let part = await parts.next();
          for (; !part.done; part = await parts.next()) {
            readCharacters += part.value.length;
            yield part.value;
          }
          return part.value;
        },
      });
      const app = await serveApp({
        deps: (usual) => ({ ...usual, deps: { ...usual.deps, answers: counting(usual.deps.answers) } }),
      });
      try {
        const question = await at(app.base).ask();
        question.stream.pause();
        await (
          await testDatabase()
        ).query(
          `INSERT INTO agent_answer_deltas (answer_id, starts_at, text)
         SELECT $1, (entry - 1) * 1000, lpad(entry::text, 1000, '.') FROM generate_series(1, $2) AS entry`,
          [question.answerId, megabytes * 1_000],
        );
        await notifyStreams();
        let before = -1;
        await until('the connection to be full', { timeoutMs: 20 * second }, async () => {
          const isFull = readCharacters > 0 && readCharacters === before;
          before = readCharacters;
          await new Promise((resolve) => setTimeout(resolve, 300));
          return isFull;
        });
        expect(readCharacters).to.be.below((megabytes * 1_000_000) / 2);
        question.stream.resume();
        const text = await question.stream.textOf(megabytes * 1_000_000, 40 * second);
        const expected = Array.from({ length: megabytes * 1_000 }, (_, entry) =>
          String(entry + 1).padStart(1_000, '.'),
        );
        expect(text === expected.join('')).to.equal(true);
      } finally {
        await app.close();
      }
    });

    it('gets every byte if it reads one byte at a time', async () => {
      const question = await classroom.ask();
      await endAnswer(question.answerId, { text: 'Every byte 🪢 comes.' });
      const { port } = await testApi();
      const path = `/v1/clubs/${classroom.club.id}/classroom/conversations/${question.conversationId}/messages/${question.answerId}/stream`;
      const bytes: number[] = [];
      const take = (_: number, buffer: Uint8Array) => bytes.push(...buffer.subarray(0, 1)) > 0;
      const socket = connect({ host: '127.0.0.1', port, onread: { buffer: Buffer.alloc(1), callback: take } });
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: club\r\nAuthorization: Bearer ${classroom.student.token}\r\nConnection: close\r\n\r\n`,
      );
      await once(socket, 'close');
      const raw = Buffer.from(bytes).toString();
      expect(raw).to.include('data: {"text":"Every byte 🪢 comes."}').and.include('event: done');
    });
  });

  describe('several processes', () => {
    it('send each word of an answer exactly once to each of its streams', async function () {
      this.timeout(60 * second);
      await withApi({}, async (other) => {
        const bases = [baseOf(await testApi()), other];
        const answers = await Promise.all(Array.from({ length: 10 }, () => classroom.ask()));
        const streams = await Promise.all(
          answers.flatMap((question) => [...bases, ...bases].map((base) => at(base).reattach(question))),
        );
        const words = Array.from({ length: 12 }, (_, place) => `word ${place} 🪢 `);
        for (const word of words) await Promise.all(answers.map(({ answerId }) => appendWords(answerId, word)));
        await Promise.all(answers.map(({ answerId }) => endAnswer(answerId)));
        await eachCase(streams, async (stream) => {
          expect((await stream.event('done')).data.answer.content).to.equal(words.join(''));
          expect(stream.text()).to.equal(words.join(''));
        });
      });
    });

    it('close the streams of a stopping process immediately, and continue them in another process', async () => {
      const api = await startApi(await testConfig());
      const question = await at(baseOf(api)).ask();
      await appendWords(question.answerId, 'So far');
      await question.stream.textOf(6);
      await withoutTimersOf(5 * second, () => api.stop()); // The process must exit without a signal.
      expect(await question.stream.ended).to.equal('whole');
      expect(question.stream.events.map(({ event }) => event)).to.deep.equal(['accepted', 'delta']);
      const rest = await classroom.reattach(question, 6);
      await endAnswer(question.answerId, { text: ', so good' });
      await rest.event('done');
      expect(rest.text()).to.equal(', so good');
    });
  });

  describe('the end of a session', () => {
    it('closes all streams of the session in every process, whether by sign-out, expiry or removal', async () => {
      const [signedOut, expired, removed, other] = [
        classroom,
        ...(await Promise.all([1, 2, 3].map(async () => buildLearner(classroom.openAgent)))).map((student) => ({
          ...askingOf(classroom.openAgent, student),
          student,
        })),
      ] as const;
      await withApi({ clock: clock.now }, async (base) => {
        const all = [signedOut, expired, removed, other].map((one) => one ?? fail());
        const questions = await Promise.all(all.map((one) => one.ask()));
        const elsewhere = await Promise.all(
          all.map(({ student }, index) =>
            askingOf(classroom.openAgent, student, base).reattach(questions[index] ?? fail()),
          ),
        );
        const streams = questions.map(({ stream }, index) => [stream, elsewhere[index] ?? fail()]);
        await call('DELETE', '/v1/auth/session', { token: all[0]?.student.token });
        await (
          await testDatabase()
        ).query(`UPDATE student_sessions SET expires_at = $2 WHERE student_id = $1`, [all[1]?.student.id, clock.now()]);
        await call('DELETE', `/v1/clubs/${classroom.club.id}/students/${all[2]?.student.id}`, {
          token: classroom.club.owner.token,
        });
        for (const stream of streams.slice(0, 2).flat()) {
          expect(await stream.ended).to.equal('whole');
          expect(stream.events.some(({ event }) => event !== 'accepted')).to.equal(false);
        }
        for (const stream of streams[2] ?? []) expect(await stream.ended).to.equal('whole');
        const { answerId } = questions[3] ?? fail();
        await endAnswer(answerId, { text: 'Still here' });
        for (const stream of streams[3] ?? [])
          expect((await stream.event('done')).data.answer.content).to.equal('Still here');
      });
    });
  });

  describe('the limit of streams', () => {
    const refusedAt = async (base: string, question: { conversationId: string; answerId: string }) => {
      const { token } = classroom.student;
      const paths = `/v1/clubs/${classroom.club.id}/classroom`;
      const before = await rowCounts();
      const body = { id: randomUUID(), content: 'One more?' };
      for (const answer of [
        await callAt(base, 'POST', `${paths}/agents/${classroom.openAgent.publicId}/messages`, { token, body }),
        await callAt(
          base,
          'GET',
          `${paths}/conversations/${question.conversationId}/messages/${question.answerId}/stream`,
          {
            token,
          },
        ),
      ]) {
        expectError(answer, 'rate_limited');
        expect(answer.headers.get('retry-after')).to.equal('5');
      }
      expect(await rowCounts()).to.deep.equal(before);
    };

    it('refuses a student’s third stream with 429 until an earlier stream ends, but not other students', async () => {
      await withApi({ env: { STREAMS_PER_STUDENT: '2' } }, async (base) => {
        const question = await at(base).ask();
        const again = await at(base).reattach(question);
        await refusedAt(base, question);
        await askingOf(classroom.openAgent, await buildLearner(classroom.openAgent), base).ask();
        expectError(await classroom.refused({ conversation_id: question.conversationId }), 'generation_in_progress');
        await endAnswer(question.answerId);
        for (const stream of [question.stream, again]) expect(await stream.ended).to.equal('whole');
        await at(base).ask();
      });
    });

    it('refuses streams above the limit of the process with 429, and does not count refused questions', async () => {
      await withApi({ env: { STREAMS_PER_PROCESS: '1' } }, async (base) => {
        const other = askingOf(classroom.openAgent, await buildLearner(classroom.openAgent), base);
        const unknown = { conversation_id: newId() };
        const path = `/v1/clubs/${classroom.club.id}/classroom/agents/${classroom.openAgent.publicId}/messages`;
        for (let count = 0; count < 3; count++) {
          const body = { id: randomUUID(), content: 'Where?', ...unknown };
          expectError(await callAt(base, 'POST', path, { token: classroom.student.token, body }), 'not_found');
        }
        await refusedAt(base, await other.ask());
      });
    });
  });

  describe('a process that stops while a client does not read', () => {
    it('ends without waiting for the client', async () => {
      const api = await startApi(await testConfig());
      let sending: Socket | undefined;
      const watch = (message: unknown) => void ({ socket: sending } = message as { socket: Socket });
      subscribe('http.server.request.start', watch);
      const { stream, answerId } = await at(baseOf(api)).ask();
      unsubscribe('http.server.request.start', watch);
      stream.pause();
      await (
        await testDatabase()
      ).query(
        `INSERT INTO agent_answer_deltas (answer_id, starts_at, text)
       SELECT $1, (entry - 1) * 1000, lpad(entry::text, 1000, '.') FROM generate_series(1, 20000) AS entry`,
        [answerId],
      );
      await notifyStreams();
      let before = -1;
      await until('the connection to be full', { timeoutMs: 15 * second }, async () => {
        const { bytesWritten = 0, writableLength = 0 } = sending ?? {};
        const isFull = writableLength > 0 && bytesWritten === before;
        before = bytesWritten;
        return isFull;
      });
      await withoutTimersOf(5 * second, () => api.stop());
      stream.resume();
      expect(await stream.ended).to.equal('cut');
    });
  });

  describe('a stream while Postgres is unreachable', () => {
    it('continues without a gap or a repetition after an outage of 5 s', async function () {
      this.timeout(40 * second);
      const line = await startPostgresLine();
      try {
        await withApi({ env: { DATABASE_URL: line.url }, streamHeartbeatMs: 200 }, async (base) => {
          const { stream, answerId } = await at(base).ask();
          await appendWords(answerId, 'before ');
          await stream.textOf(7);
          line.fallSilent();
          await appendWords(answerId, 'meanwhile ');
          await new Promise((resolve) => setTimeout(resolve, 5 * second));
          expect(stream.text()).to.equal('before ');
          const comments = stream.comments.length;
          expect(comments).to.be.above(3); // the client receives a comment, so its connection is alive
          line.speakAgain();
          await stream.textOf(17);
          await endAnswer(answerId, { text: 'after' });
          const { data } = await stream.event('done');
          expect([stream.text(), data.answer.content]).to.deep.equal(Array(2).fill('before meanwhile after'));
        });
      } finally {
        line.stop();
      }
    });

    it('continues after all connections to Postgres were cut, including the connection for notifications', async function () {
      this.timeout(40 * second);
      const { stream, answerId } = await classroom.ask();
      await appendWords(answerId, 'before ');
      await stream.textOf(7);
      const source = await testDatabase();
      for (let round = 0; round < 3; round++) {
        await source.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name IN ('club-answers', 'club-api') AND datname = current_database()`,
        );
        await appendWords(answerId, `round ${round} `);
        await stream.textOf(7 + 8 * (round + 1));
      }
      await source.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name IN ('club-answers', 'club-api') AND datname = current_database()`,
      );
      await endAnswer(answerId, { text: 'after' });
      await stream.event('done');
      expect(stream.text()).to.equal('before round 0 round 1 round 2 after');
    });
  });
});

function fail(): never {
  throw new Error('There is one.');
}
