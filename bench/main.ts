/**
 * `npm run bench -- SUITE [MEASUREMENT …] [--save]`, such as `webhooks latency`, prints each figure with its ceiling or baseline from the
 * same run. `--save` also writes `bench/figures/SUITE.json`. Without a suite it lists all suites.
 */
import { agentMeasurements, benchAgents } from './agents.ts';
import { apiMeasurements, benchApi } from './api.ts';
import { automationMeasurements, benchAutomations } from './automations.ts';
import { benchBulk, bulkMeasurements } from './bulk.ts';
import { benchCampaigns, campaignMeasurements } from './campaigns.ts';
import { benchCommunity, communityMeasurements } from './community.ts';
import { benchErasure, erasureMeasurements } from './erasure.ts';
import { benchExport, exportMeasurements } from './export.ts';
import { benchExtraction, extractionMeasurements } from './extraction/suite.ts';
import { saveRun } from './figures.ts';
import { benchHolds, holdMeasurements } from './holds.ts';
import { benchImport, importMeasurements } from './import.ts';
import { benchMedia, longMediaMeasurements, mediaMeasurements } from './media.ts';
import { benchReads, readMeasurements } from './reads.ts';
import { benchRetrieval, retrievalMeasurements } from './retrieval/suite.ts';
import { benchSales, salesMeasurements } from './sales.ts';
import { benchStart, startMeasurements } from './start.ts';
import { benchTiming, timingMeasurements } from './timing.ts';
import { benchUrgency, urgencyMeasurements } from './urgency.ts';
import { benchWebhooks, longWebhookMeasurements, webhookMeasurements } from './webhooks/suite.ts';

interface Suite {
  measurements: readonly string[];
  /** These run only if the command line names them. */
  long?: readonly string[];
  run: (measurements: readonly string[]) => Promise<void>;
}

const suites: Readonly<Record<string, Suite>> = {
  webhooks: { measurements: webhookMeasurements, long: longWebhookMeasurements, run: benchWebhooks },
  api: { measurements: apiMeasurements, run: benchApi },
  automations: { measurements: automationMeasurements, run: benchAutomations },
  bulk: { measurements: bulkMeasurements, run: benchBulk },
  campaigns: { measurements: campaignMeasurements, run: benchCampaigns },
  community: { measurements: communityMeasurements, run: benchCommunity },
  erasure: { measurements: erasureMeasurements, run: benchErasure },
  export: { measurements: exportMeasurements, run: benchExport },
  extraction: { measurements: extractionMeasurements, run: benchExtraction },
  holds: { measurements: holdMeasurements, run: benchHolds },
  import: { measurements: importMeasurements, run: benchImport },
  media: { measurements: mediaMeasurements, long: longMediaMeasurements, run: benchMedia },
  reads: { measurements: readMeasurements, run: benchReads },
  retrieval: { measurements: retrievalMeasurements, run: benchRetrieval },
  sales: { measurements: salesMeasurements, run: benchSales },
  start: { measurements: startMeasurements, run: benchStart },
  timing: { measurements: timingMeasurements, run: benchTiming },
  urgency: { measurements: urgencyMeasurements, run: benchUrgency },
  agents: { measurements: agentMeasurements, run: benchAgents },
};

const isSaved = process.argv.includes('--save');
const [name = '', ...chosen] = process.argv.slice(2).filter((argument) => argument !== '--save');
const suite = Object.hasOwn(suites, name) ? suites[name] : undefined;
if (suite && chosen.every((measurement) => suite.measurements.includes(measurement))) {
  const { long = [] } = suite;
  const usual = suite.measurements.filter((measurement) => !long.includes(measurement));
  const measurements = chosen.length > 0 ? chosen : usual;
  try {
    await suite.run(measurements);
    if (isSaved) process.stderr.write(`Saved in ${saveRun(name)}. Now run npm run generate.\n`);
  } catch (error) {
    process.stderr.write(`The measurement failed. ${error instanceof Error ? error.message : String(error)}\n`);
    // An open timer or receiver would keep this process alive.
    process.exit(1);
  }
} else {
  const usage = Object.entries(suites).map(([each, { measurements }]) => `${each} [${measurements.join(' | ')}]`);
  process.stderr.write(
    `Say what to measure: npm run bench -- ${usage.join('\n                  or: npm run bench -- ')}\n`,
  );
  process.exitCode = 2;
}
