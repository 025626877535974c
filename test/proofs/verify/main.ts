/**
 * `npm run prove -- verify NAME` verifies the product, with a name from `proofs`.
 * Each proof has a separate directory and separate servers (its site), and ends with a line on stdout.
 */
import { interruption } from '../../../dev/interruption.ts';
import { runScript, say } from '../../../dev/problem.ts';
import { verifyBuild } from './build.ts';
import { verifyChart } from './chart.ts';
import { verifyCluster } from './cluster.ts';
import { verifyExport } from './export.ts';
import { verifyImage } from './image.ts';
import { verifyKeys } from './keys.ts';
import { verifyListen } from './listen.ts';
import { verifyObserve } from './observe.ts';
import { verifyConnections } from './connections.ts';
import { onSite, type Site } from './site.ts';
import { verifySdk } from './sdk.ts';
import { verifyUpgrade } from './upgrade.ts';

/** @throws Problem with the fault */
const proofs: Readonly<Record<string, (site: Site) => Promise<string>>> = {
  build: verifyBuild,
  chart: verifyChart,
  cluster: verifyCluster,
  export: verifyExport,
  image: verifyImage,
  keys: verifyKeys,
  listen: verifyListen,
  observe: verifyObserve,
  connections: verifyConnections,
  sdk: verifySdk,
  upgrade: verifyUpgrade,
};

await runScript(async () => {
  const [chosenName = '', ...more] = process.argv.slice(2);
  const proof = Object.hasOwn(proofs, chosenName) && more.length === 0 ? proofs[chosenName] : undefined;
  if (!proof) {
    process.stderr.write(`Name a proof: npm run prove -- verify ${Object.keys(proofs).join(' | ')}\n`);
    return 2;
  }
  const line = await onSite(proof, interruption());
  if (line !== undefined) say(line);
  return line === undefined ? 1 : 0;
});
