/** Tests the images of campaigns (DEC-157, CAMP-4, CAMP-8, CAMP-42). */
import { expect } from 'chai';
import { Readable } from 'node:stream';
import sharp from 'sharp';
import { checkCampaign } from '../../../domain/campaigns/drafts/advice.ts';
import { listProblems } from '../../../domain/campaigns/drafts/checks.ts';
import { updateCampaign } from '../../../domain/campaigns/drafts/drafts.ts';
import { previewCampaign } from '../../../domain/campaigns/drafts/preview.ts';
import { readCampaign } from '../../../domain/campaigns/records.ts';
import {
  pauseCampaign,
  resumeCampaign,
  scheduleCampaign,
  unscheduleCampaign,
} from '../../../domain/campaigns/states.ts';
import { stepCampaign, type CampaignStep } from '../../../domain/campaigns/step.ts';
import { requestTestMail, sendTestMail, type TestMailDeps } from '../../../domain/campaigns/drafts/test-mails.ts';
import { removeMedia } from '../../../domain/media/erasure/erasure.ts';
import { replaceMedia } from '../../../domain/media/library/replacing.ts';
import { MediaRendition } from '../../../entities/media/media-rendition.ts';
import { Media } from '../../../entities/media/media.ts';
import type { DomainError } from '../../../platform/core/errors.ts';
import { newId, type Id } from '../../../platform/core/ids.ts';
import type { HandedMessage } from '../../../platform/infra/smtp/smtp-hand-over.ts';
import { apngOf, gifOf } from '../../toolkit/builders/animations.ts';
import { buildCampaign } from '../../toolkit/builders/campaigns.ts';
import { buildStudent, type TestClub } from '../../toolkit/builders/clubs.ts';
import { sendingDeps } from '../../toolkit/drive/campaigns.ts';
import { mediaDeps, uploadFile, type TestFile } from '../../toolkit/drive/media.ts';
import { testDeps } from '../../toolkit/stack/database.ts';
import { testObjectStore } from '../../toolkit/stack/storage.ts';

const start = new Date('2026-03-02T12:00:00Z');
const later = (ms: number) => new Date(start.getTime() + ms);
const plain = (width: number, height: number) => sharp({ create: { width, height, channels: 3, background: 'teal' } });
const icon = async (): Promise<TestFile> => ({
  fileName: 'icon.png',
  mime: 'image/png',
  bytes: await plain(24, 24).png().toBuffer(),
});
const poster: TestFile = {
  fileName: 'poster.svg',
  mime: 'image/svg+xml',
  bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9000" height="9000"></svg>'),
};
const path = '$.content.blocks[1].media_id';

describe('the images of a campaign', () => {
  let deps: Awaited<ReturnType<typeof testDeps>>;
  let club: TestClub;
  let campaignId: Id;
  let messages: HandedMessage[];
  let sending: TestMailDeps;

  before(async () => {
    deps = await testDeps();
  });
  beforeEach(async () => {
    messages = [];
    sending = await sendingDeps({
      connections: 1,
      onConnection: (work) => work(),
      handOver: async (message) => {
        messages.push(message);
        return { kind: 'accepted', reply: '250 ok' };
      },
    });
    ({ club, campaignId } = await buildCampaign(start));
    for (const name of ['Ada', 'Bob']) await buildStudent(club.id, { name, createdAt: later(-1) });
  });

  const uploaded = async (file: TestFile) => (await uploadFile({ club }, file)).id;
  const show = (mediaId: Id, at = start) =>
    updateCampaign(
      deps,
      club.id,
      campaignId,
      {
        content: {
          subject: 'A knot',
          blocks: [{ kind: 'divider' }, { kind: 'image', media_id: mediaId, alt: 'A knot' }],
        },
      },
      at,
    );
  const problems = async (now = start) =>
    (await listProblems(deps.db, club.id, campaignId, now)).problems.map(({ path: at, code }) => [at, code]);
  const schedule = (at?: string, now = start) => scheduleCampaign(deps, club.id, campaignId, at, now);
  const run = async (at = start): Promise<CampaignStep> => {
    for (let steps = 0; steps < 20; steps++) {
      const next = await stepCampaign(sending, campaignId, at.getTime());
      if (next.done || next.at !== undefined) return next;
    }
    throw new Error('The campaign did not end within the allowed number of steps');
  };
  const state = async () => {
    const { status, pause_reason: reason } = await readCampaign(deps.db, club.id, campaignId);
    return [status, reason];
  };
  const refusal = (act: Promise<unknown>) =>
    act.then(
      () => 'none',
      ({ code }: DomainError) => code,
    );
  const replace = async (mediaId: Id, withId: Id) =>
    replaceMedia(
      await mediaDeps(),
      { clubId: club.id, administratorId: club.owner.id },
      mediaId,
      { with: withId },
      start,
    );
  const imageIn = (html = '') => {
    const [tag = ''] = /<img[^>]*alt="A knot"[^>]*>/.exec(html) ?? [];
    const attribute = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
    return { src: attribute('src') ?? '', width: attribute('width') };
  };
  const fetched = async (url: string) => {
    const response = await fetch(url);
    const bytes = Buffer.from(await response.arrayBuffer());
    return { type: response.headers.get('content-type'), bytes };
  };
  /** This image was uploaded before the platform made pictures for e-mails. */
  const fromBefore = async (bytes: Buffer) => {
    const id = newId();
    const objectKey = `library/${id}`;
    await (await testObjectStore()).put(objectKey, 'image/png', Readable.from([bytes]));
    const file = {
      purpose: 'library',
      kind: 'image',
      provider: 'objstore',
      status: 'ready',
      mime: 'image/png',
    } as const;
    const times = { createdAt: start, updatedAt: start, sizeBytes: String(bytes.length) };
    await deps.db.manager.insert(Media, { id, clubId: club.id, title: 'A knot', objectKey, ...file, ...times });
    return id;
  };

  for (const [what, file, code] of [
    ['a drawing of 81 megapixels', poster, 'image_too_large'],
    [
      'a PNG of 56 megapixels',
      plain(8_000, 7_000)
        .png()
        .toBuffer()
        .then((bytes) => ({ fileName: 'k.png', mime: 'image/png', bytes })),
      'image_too_large',
    ],
    [
      'an animated AVIF',
      {
        fileName: 'k.avif',
        mime: 'image/avif',
        bytes: Buffer.from('\0\0\0\x18ftypavis\0\0\0\0avisiso8\0\0\0\x08moov', 'latin1'),
      },
      'image_unreadable',
    ],
    [
      'a damaged AVIF',
      plain(60, 40)
        .avif()
        .toBuffer()
        .then((bytes) => ({ fileName: 'k.avif', mime: 'image/avif', bytes: bytes.subarray(0, bytes.length - 40) })),
      'image_unreadable',
    ],
    [
      'a drawing with width 0 and height 0',
      { ...poster, bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="0" height="0"></svg>') },
      'image_unreadable',
    ],
  ] as const)
    it(`are reported as a problem before the campaign is scheduled: ${what}`, async () => {
      const ready = await uploadFile({ club }, await file);
      expect(ready.status).to.equal('ready');
      await show(ready.id);
      expect(await problems()).to.deep.equal([[path, code]]);
      expect(await refusal(schedule())).to.equal('invalid_request');
      expect(
        await refusal(
          previewCampaign(
            { ...deps, publicUrl: '', storage: await testObjectStore() },
            club.id,
            campaignId,
            undefined,
            start,
          ),
        ),
      ).to.equal('campaign_has_problems');
      expect(await refusal(requestTestMail(deps, club.id, campaignId, club.owner.id, start))).to.equal(
        'campaign_has_problems',
      );
    });

  it('pause the campaign if a bad image replaces a good one', async () => {
    const [fine, huge] = [
      await uploaded({
        ...poster,
        bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'),
      }),
      await uploaded(poster),
    ];
    await show(fine);
    await schedule();
    await replace(fine, huge);
    expect(await run()).to.include({ done: false, status: 'paused' });
    expect(await state()).to.deep.equal(['paused', 'problems']);
    expect(await problems()).to.deep.equal([[path, 'image_too_large']]);
    const draft = await unscheduleCampaign(deps, club.id, campaignId, later(1));
    expect(draft).to.include({ status: 'draft' }).and.not.have.any.keys('pause_reason', 'scheduled_at');
    expect(await run()).to.deep.equal({ done: true, outcome: 'draft' });
    await show(await uploaded(await icon()), later(2));
    expect(await problems()).to.deep.equal([]);
    await schedule(undefined, later(3));
    expect(await run(later(3))).to.deep.equal({ done: true, outcome: 'sent' });
    expect(messages.map(({ to }) => to)).to.have.length(2);
    expect(new Set(messages.map(({ to }) => to)).size).to.equal(2);
  });

  it('let the campaign continue after the image is repaired', async () => {
    const [drawing, huge] = [
      await uploaded({
        ...poster,
        bytes: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"></svg>'),
      }),
      await uploaded(poster),
    ];
    await show(drawing);
    await schedule();
    await replace(drawing, huge);
    await run();
    await replace(drawing, huge);
    await resumeCampaign(deps, club.id, campaignId, later(1));
    expect(await run(later(1))).to.deep.equal({ done: true, outcome: 'sent' });
    expect(messages).to.have.length(2);
  });

  it('pause the campaign if an image was deleted', async () => {
    const id = await uploaded(await icon());
    await show(id);
    await schedule();
    await removeMedia(await mediaDeps(), club.id, id, start, { force: true });
    expect(await run()).to.include({ status: 'paused' });
    expect(await problems()).to.deep.equal([[path, 'unknown_media']]);
    expect(await unscheduleCampaign(deps, club.id, campaignId, later(1))).to.include({ status: 'draft' });
  });

  for (const [what, bytes] of [
    ['cannot be read', Buffer.from('no image')],
    ['is damaged', Buffer.from('\u0089PNG\r\n\u001a\n and no more', 'latin1')],
  ] as const)
    it(`pause the campaign at its start if an old image ${what}`, async () => {
      await show(await fromBefore(bytes));
      expect(await problems()).to.deep.equal([]);
      await schedule();
      expect(await run()).to.include({ status: 'paused' });
      expect(await state()).to.deep.equal(['paused', 'problems']);
      expect(await problems()).to.deep.equal([[path, 'image_unreadable']]);
      expect(await unscheduleCampaign(deps, club.id, campaignId, later(1))).to.include({ status: 'draft' });
      expect(await refusal(schedule(undefined, later(2)))).to.equal('invalid_request');
    });

  it('keep a campaign with frozen recipients from becoming a draft again', async () => {
    await schedule();
    sending.smtp.handOver = async () => ({ kind: 'refused', permanent: false, reply: '451 later' });
    await run();
    await pauseCampaign(deps, club.id, campaignId, later(1));
    expect(await refusal(unscheduleCampaign(deps, club.id, campaignId, later(2)))).to.equal('campaign_state');
    expect(await state()).to.deep.equal(['paused', 'by_hand']);
  });

  it('are never wider than the original', async () => {
    const turned = plain(300, 100).withMetadata({ orientation: 6 }).jpeg();
    for (const [file, width] of [
      [await icon(), '24'],
      [{ fileName: 'turned.jpg', mime: 'image/jpeg', bytes: await turned.toBuffer() }, '100'],
      [{ fileName: 'wide.jpg', mime: 'image/jpeg', bytes: await plain(2_000, 500).jpeg().toBuffer() }, '550'],
    ] as const) {
      await show(await uploaded(file));
      const storage = await testObjectStore();
      const preview = await previewCampaign({ ...deps, publicUrl: '', storage }, club.id, campaignId, undefined, start);
      expect(imageIn(preview.html).width).to.equal(width);
      await sendTestMail(
        sending,
        (await requestTestMail(deps, club.id, campaignId, club.owner.id, start)).id,
        start.getTime(),
      );
      expect(imageIn(messages.at(-1)?.html).width).to.equal(width);
    }
    await schedule();
    await run();
    expect(imageIn(messages.at(-1)?.html).width).to.equal('550');
  });

  it('are found if their ids are in upper case', async () => {
    await show((await uploaded(await icon())).toUpperCase());
    expect(await problems()).to.deep.equal([]);
    await schedule();
    await run();
    expect(imageIn(messages.at(-1)?.html).width).to.equal('24');
  });

  it('stay animated in the test mail and in the campaign', async () => {
    const gif = await gifOf({ width: 800, height: 400, pictures: 3 });
    await show(await uploaded({ fileName: 'k.gif', mime: 'image/gif', bytes: gif }));
    await sendTestMail(
      sending,
      (await requestTestMail(deps, club.id, campaignId, club.owner.id, start)).id,
      start.getTime(),
    );
    await schedule();
    await run();
    const [test, testUrl] = [messages[0], messages.at(-1)].map((message) =>
      imageIn(message?.html).src.replaceAll('&amp;', '&'),
    );
    expect(testUrl).to.match(new RegExp(`^${sending.images.publicFilesUrl}/mail/${club.id}/[0-9a-f]{64}\\.gif$`));
    const [tested, published] = [await fetched(test ?? ''), await fetched(testUrl ?? '')];
    expect([tested.type, published.type]).to.deep.equal(['image/gif', 'image/gif']);
    expect(published.bytes.equals(tested.bytes)).to.equal(true);
    expect((await sharp(published.bytes).metadata()).pages).to.equal(3);
  });

  it('cause a warning if an animation becomes a still picture, or if a picture is large', async () => {
    const id = await uploaded({
      fileName: 'k.png',
      mime: 'image/png',
      bytes: await apngOf({ width: 40, height: 20 }),
    });
    await show(id);
    const warnings = async () => {
      const mailDomains = {
        platformAddress: 'news@platform.example',
        warmUps: { clubs: [], domains: [] },
        resolveText: async () => [],
        spfInclude: undefined,
      };
      const storage = await testObjectStore();
      const checks = await checkCampaign(
        { db: deps.db, publicUrl: 'https://api.example.com', storage, mailDomains },
        club.id,
        campaignId,
        start,
      );
      return checks.warnings.filter(({ code }) => code.startsWith('image_')).map(({ path: at, code }) => [at, code]);
    };
    expect(await warnings()).to.deep.equal([[path, 'image_stands_still']]);
    await deps.db.manager.update(MediaRendition, { mediaId: id, role: 'mail' }, { sizeBytes: '1000001' });
    expect(await warnings()).to.deep.equal([
      [path, 'image_stands_still'],
      [path, 'image_heavy'],
    ]);
    await show(await uploaded(await icon()));
    expect(await warnings()).to.deep.equal([]);
  });
});
