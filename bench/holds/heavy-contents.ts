/** The contents that take the most time to read. The generated request bodies do not contain them. */
import type { DataSource } from 'typeorm';
import type { OperationId } from '../../contract/contract.ts';
import type { World } from '../../test/proofs/fuzz/world/world.ts';

interface HeavyContent {
  name: string;
  write(source: DataSource, world: World): Promise<unknown>;
  /** These operations read the record. */
  operations: readonly OperationId[];
}

const ofCampaign: readonly OperationId[] = [
  'getCampaign',
  'listCampaigns',
  'getCampaignProblems',
  'checkCampaign',
  'previewCampaign',
  'previewContrastingCopies',
  'showCampaignPreview',
  'sendTestMail',
  'duplicateCampaign',
  'scheduleCampaign',
];
const ofAutomation: readonly OperationId[] = [
  'getAutomation',
  'listAutomations',
  'getAutomationProblems',
  'dryRunAutomation',
  'duplicateAutomation',
  'compareAutomationVersions',
  'publishAutomation',
];

/** The text blocks repeat the same characters. */
const email = (blocks: number, text: string, most: number) => ({
  subject: 'News',
  blocks: Array.from({ length: blocks }, () => ({
    kind: 'text',
    text: text.repeat(Math.floor(most / text.length)),
  })),
});

const campaign = (name: string, content: object): HeavyContent => ({
  name: `a campaign of ${name}`,
  write: (source, { valueOf }) =>
    source.query(`UPDATE campaigns SET content = $2, status = 'draft' WHERE id = $1`, [
      valueOf('own.campaign'),
      content,
    ]),
  operations: ofCampaign,
});

/** A draft of the maximum size; its steps are e-mails. */
const automation = (name: string, content: object): HeavyContent => ({
  name: `an automation of ${name}`,
  write: (source, { valueOf }) =>
    // `version_count` is 1000, so that the next version does not collide with copies of `multiplyRows`.
    source.query(
      `UPDATE automations SET draft = jsonb_set(draft, '{steps}', $2::jsonb), version_count = 1000 WHERE id = $1`,
      [valueOf('own.workflow'), JSON.stringify([{ id: 'mail', kind: 'send_email', email: content }])],
    ),
  operations: ofAutomation,
});

const nested = `${'- '.repeat(9)}a\n`;

export const heavyContents: readonly HeavyContent[] = [
  campaign('51 blocks of open braces', email(51, '{{', 10_000)),
  campaign('13 blocks of unknown variables', email(13, '{{x}}', 20_000)),
  campaign('variables', email(50, '{{student_name}} ', 10_000)),
  campaign('nested lists', email(50, nested, 10_000)),
  campaign('links', email(50, '[a](http://a.example/b) ', 10_000)),
  campaign('emphasis', email(50, '*a* ', 10_000)),
  campaign('100 blocks of text', email(100, 'Ahoy there ', 10_000)),
  automation('open braces', email(12, '{{', 20_000)),
  automation('nested lists', email(24, nested, 10_000)),
  automation('variables', email(24, '{{student_name}} ', 10_000)),
];
