/**
 * `npm run bench -- automations [throughput | waiting | burst | reads]`: `throughput` measures runs and steps a second beside the bare
 * engine. `waiting` measures the worker's cost of 20,000 waiting runs. `burst` measures the end of 5,000 waits beside other clubs. `reads`
 * measures reads with a million runs.
 */
import { measureReads } from './automations/reads.ts';
import { measureThroughput } from './automations/throughput.ts';
import { measureWaiting } from './automations/waiting.ts';
import { onMailbox } from './codes.ts';
import { onWebhookScene } from './webhooks/scene.ts';

export const automationMeasurements = ['throughput', 'waiting', 'burst', 'reads'] as const;
/** No machine reaches this limit (AUTO-20). */
const unpaced = '1000';
type Measurement = (typeof automationMeasurements)[number];

export async function benchAutomations(selection: readonly string[]): Promise<void> {
  const is = (measurement: Measurement) => selection.includes(measurement);
  if (is('throughput')) await onWebhookScene(measureThroughput, async () => ({ BULK_STARTS_PER_SECOND: unpaced }));
  if (is('waiting') || is('burst'))
    await onMailbox(({ smtpUrl, arrivals }) =>
      onWebhookScene(
        async (scene) => {
          await measureWaiting(scene, { arrivals }, { cost: is('waiting'), burst: is('burst') });
          await scene.clear();
        },
        async () => ({ SMTP_URL: smtpUrl }),
      ),
    );
  if (is('reads')) await measureReads();
}
