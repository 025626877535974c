/** Tests that the largest e-mails do not block the main thread. */
import { expect } from 'chai';
import type { EmailContent } from '../../../../domain/mail/content/email-content.ts';
import { copiesInThread, judgeEmails } from '../../../../domain/mail/content/email-work.ts';
import { contentProblems } from '../../../../domain/mail/content/problems.ts';
import { parseTemplate } from '../../../../domain/mail/content/variables.policy.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { watchHolds } from '../../../toolkit/drive/loop-holds.ts';

describe('work on large e-mails', () => {
  const clubId = newId();
  const holds = watchHolds();
  /** The largest request, 1 MB. */
  const email = (text: string, blocks = 50): EmailContent => ({
    subject: 'News',
    blocks: Array.from({ length: blocks }, () => ({ kind: 'text' as const, text })),
  });
  const isImage = () => false;
  async function timed<Result>(work: () => Promise<Result>): Promise<{ result: Result; holdMs: number }> {
    await new Promise((resolve) => setTimeout(resolve, 5));
    holds.begin();
    const result = await work();
    return { result, holdMs: holds.longestMs() };
  }
  /** Far longer than a message to the thread, and far shorter than the work. */
  const mostMs = 50;

  it('describes the first 100 problems without blocking the main thread', async () => {
    const content = email('{{'.repeat(5_000), 51);
    const all = contentProblems(content, { path: '$.content', isImage });
    expect(all).to.have.length(51 * 5_000);
    const { result, holdMs } = await timed(() => judgeEmails(clubId, [{ content, path: '$.content', images: [] }]));
    expect(result).to.deep.equal([{ problems: all.slice(0, 100), count: 255_000 }]);
    expect(holdMs).to.be.below(mostMs);
  });

  it('validates a text with 500,000 problems', async () => {
    const [found] = await judgeEmails(clubId, [{ content: email('{{'.repeat(500_000), 1), path: '$', images: [] }]);
    expect(found?.count).to.equal(500_001);
    expect(found?.problems.slice(0, 2).map(({ code }) => code)).to.deep.equal(['too_long', 'unclosed_variable']);
  });

  it('reads a text of a million characters in linear time', () => {
    for (const text of ['{{', '{{}}', '{{x ', '{{\n', '{{student_name}}'])
      expect(parseTemplate(text.repeat(1_000_000 / text.length)).parts.length).to.be.above(60_000);
  });

  it('finds equal problems in a small and a large e-mail', async () => {
    for (const blocks of [1, 40]) {
      const content = email('[a](javascript:1) '.repeat(50), blocks);
      const [found] = await judgeEmails(clubId, [{ content, path: '$', images: [] }]);
      expect(found).to.deep.equal({
        problems: contentProblems(content, { path: '$', isImage }).slice(0, 100),
        count: 50 * blocks,
      });
    }
  });

  it('returns only the size of a copy that exceeds the limit', async () => {
    const name = `<${'n'.repeat(199)}`;
    const copies = {
      content: email('{{student_name}} '.repeat(500), 20),
      letterhead: { clubName: 'Club', postalAddress: 'Quay 1', language: 'en' },
      imageUrls: {},
      recipients: [{ student_name: name }, { student_name: 'Ada' }],
      unsubscribeUrl: '#',
      mostBytes: 900_000,
    };
    const { result, holdMs } = await timed(() => copiesInThread(clubId, copies));
    const [large, small] = result ?? [];
    expect(large?.body).to.equal(undefined);
    expect(large?.htmlBytes).to.be.within(20 * 500 * 203, 20 * 500 * 203 + 30_000);
    expect(Buffer.byteLength(small?.body?.html ?? '')).to.equal(small?.htmlBytes);
    expect(small?.body?.text.startsWith('Ada Ada Ada')).to.equal(true);
    expect(holdMs).to.be.below(mostMs);
  });
});
