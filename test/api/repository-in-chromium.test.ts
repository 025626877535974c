/** Tests the archive of a repository that a browser downloads over a connection that is cut in the middle (REPO-7). */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import { askPython, whyNoPython } from '../toolkit/assert/python.ts';
import { buildAccessDelivery, buildEnrollment } from '../toolkit/builders/access.ts';
import { buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { buildHostedFile, buildRepository } from '../toolkit/builders/repositories.ts';
import { call, clock } from '../toolkit/drive/api.ts';
import { useBrowser, widths } from '../toolkit/stack/browser.ts';

const cutAfter = 700_000;

describe('the archive of a repository in Chromium', function () {
  this.timeout(60_000);
  const openPage = useBrowser();
  let line: http.Server;
  let origin = '';
  /** The headers `Range` and `If-Range` of each request, and the status of the answer. */
  let requests: { range: string | undefined; ifRange: string | undefined; status: number }[] = [];

  /** A proxy that forwards requests, and cuts the connection in the middle of the first answer. */
  async function passOn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { range, 'if-range': ifRange } = request.headers;
    const answer = await new Promise<IncomingMessage>((resolve, reject) =>
      http.get(`${origin}${request.url}`, { headers: request.headers }, resolve).on('error', reject),
    );
    requests.push({ range, ifRange: ifRange?.toString(), status: answer.statusCode ?? 0 });
    const isFirst = requests.length === 1;
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    let room = isFirst ? cutAfter : Number.POSITIVE_INFINITY;
    for await (const piece of answer as AsyncIterable<Buffer>) {
      response.write(piece.subarray(0, room));
      room -= piece.length;
      if (room <= 0) break;
    }
    if (isFirst) response.socket?.end();
    else response.end();
  }

  if (whyNoPython !== undefined) it.skip(`needs Python to check the archive: ${whyNoPython}`);

  before('start a proxy that cuts the first answer', async () => {
    line = http.createServer((request, response) => void passOn(request, response));
    await once(line.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => {
    line.closeAllConnections();
    line.close();
  });

  it('is resumed with `Range` and `If-Range`, and then Python can read the archive', async () => {
    requests = [];
    const club = await buildClub();
    const contents = [randomBytes(1_200_000), Buffer.from('A bowline\n')];
    const files = [];
    for (const [place, bytes] of contents.entries())
      files.push((await buildHostedFile(club.id, `card ${place}.bin`, bytes)).id);
    const { id, publicId } = await buildRepository(club.id, { title: 'Knot cards', mediaIds: files });
    const student = await buildStudent(club.id);
    const delivery = await buildAccessDelivery(club.id, { repositoryId: id });
    const startsAt = new Date(clock.now().getTime() - 60_000);
    await buildEnrollment(club.id, { studentId: student.id, deliveryId: delivery.id, startsAt });
    const path = `/v1/clubs/${club.id}/classroom/repositories/${publicId}/download`;
    const { url, size_bytes: size } = (await call('POST', path, { token: student.token })).body.data;
    ({ origin } = new URL(url));

    const page = await openPage(widths.laptop);
    const downloading = page.waitForEvent('download');
    // Chromium reports a failure because the navigation becomes a download.
    const cutUrl = url.replace(origin, `http://127.0.0.1:${(line.address() as AddressInfo).port}`);
    await page.goto(cutUrl).catch(() => undefined);
    const download = await downloading;
    expect(download.suggestedFilename()).to.equal('Knot cards.zip');
    const saved = await download.path();
    const [first, second] = requests;
    expect([requests.length, first?.range, first?.status, second?.status]).to.deep.equal([2, undefined, 200, 206]);
    expect(Number(/^bytes=(\d+)-$/.exec(second?.range ?? '')?.[1])).to.be.within(1, size - 1);
    expect(second?.ifRange).to.match(/^"zip1-/);
    if (whyNoPython !== undefined) return;
    const script = `import hashlib
z = zipfile.ZipFile(sys.argv[1])
print(json.dumps([z.testzip(), [[i.filename, hashlib.sha256(z.read(i)).hexdigest()] for i in z.infolist()]]))`;
    expect(await askPython(saved, script)).to.deep.equal([
      null,
      contents.map((bytes, place) => [`card ${place}.bin`, createHash('sha256').update(bytes).digest('hex')]),
    ]);
  });
});
