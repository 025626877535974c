import { startApi } from '../../api/server.ts';
import { buildClub } from '../toolkit/builders/clubs.ts';
import { callAt, testConfig, type Answer } from '../toolkit/drive/api.ts';
import { untilWaitingForLocks, withOpenTransaction } from '../toolkit/drive/races.ts';
import { withoutTimersOf } from '../toolkit/fakes/timers.ts';
import { expect } from 'chai';

describe('the graceful stop of the API', () => {
  it('first reports not ready, then answers the requests in flight, and then closes the port', async () => {
    const api = await startApi(await testConfig());
    const base = `http://127.0.0.1:${api.port}`;
    const club = await buildClub();
    const register = () =>
      callAt(base, 'POST', `/v1/clubs/${club.id}/webhook-endpoints`, {
        token: club.owner.token,
        body: { url: 'https://93.184.216.34/hooks', event_types: ['student.created'] },
      });
    expect((await callAt(base, 'GET', '/readyz')).status).to.equal(200);

    let inFlight: Promise<Answer> | undefined;
    let stopped: Promise<void> | undefined;
    let hasStopped = false;
    // The registration of an endpoint locks the club. The request stays in flight while another transaction holds the lock.
    await withOpenTransaction(
      (tx) => tx.manager.query(`SELECT 1 FROM clubs WHERE id = $1 FOR UPDATE`, [club.id]),
      async () => {
        inFlight = register();
        await untilWaitingForLocks(1);
        // The client keeps its connection alive. The stop waits neither for this connection nor for the time limit of 15 s.
        stopped = withoutTimersOf(2_000, () => api.stop()).then(() => {
          hasStopped = true;
        });
        const ready = await callAt(base, 'GET', '/readyz');
        expect([ready.status, ready.text]).to.deep.equal([503, '{"status":"not_ready"}']);
        expect((await callAt(base, 'GET', '/healthz')).status).to.equal(200);
        await refusingConnections(base);
        expect(hasStopped).to.equal(false);
      },
    );
    expect((await inFlight)?.status).to.equal(201);
    await stopped;
  });

  it('takes less than 2 s if no requests are in flight', async () => {
    const api = await startApi(await testConfig());
    await callAt(`http://127.0.0.1:${api.port}`, 'GET', '/healthz');
    await withoutTimersOf(2_000, () => api.stop());
  });

  it('needs a successful start: a start on a used port fails with EADDRINUSE', async () => {
    const api = await startApi(await testConfig());
    try {
      const config = await testConfig({ API_PORT: String(api.port) });
      const error = await startApi(config).then(
        () => undefined,
        (reason: unknown) => reason as NodeJS.ErrnoException,
      );
      expect(error?.code).to.equal('EADDRINUSE');
    } finally {
      await api.stop();
    }
  });
});

async function refusingConnections(base: string): Promise<void> {
  for (;;) {
    // Each fetch must open a new connection, because the server still serves connections that are already open.
    const refused = await fetch(`${base}/healthz`, { headers: { connection: 'close' } }).then(
      async (response) => (await response.text()) === '',
      () => true,
    );
    if (refused) return;
  }
}
