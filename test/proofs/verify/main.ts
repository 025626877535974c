/** `npm run prove -- verify build | chart | cluster | connections | image | keys | observe | upgrade`: proofs of what is shipped, on a site of its own. Each ends with its line, on stdout. */
import { interruption } from '../../../dev/interruption.ts';
import { runScript, say } from '../../../dev/problem.ts';
import { verifyBuild } from './build.ts';
import { verifyChart } from './chart.ts';
import { verifyCluster } from './cluster.ts';
import { verifyImage } from './image.ts';
import { verifyKeys } from './keys.ts';
import { verifyObserve } from './observe.ts';
import { verifyConnections } from './connections.ts';
import { onSite, type Site } from './site.ts';
import { verifyUpgrade } from './upgrade.ts';

/** @returns the line that each ends with @throws Problem saying what is not as it should be */
const proofs: Readonly<Record<string, (site: Site) => Promise<string>>> = {
  build: verifyBuild,
  chart: verifyChart,
  cluster: verifyCluster,
  image: verifyImage,
  keys: verifyKeys,
  observe: verifyObserve,
  connections: verifyConnections,
  upgrade: verifyUpgrade,
};

await runScript(async () => {
  const [wanted = '', ...more] = process.argv.slice(2);
  const proof = Object.hasOwn(proofs, wanted) && more.length === 0 ? proofs[wanted] : undefined;
  if (!proof) {
    process.stderr.write(`Say what to verify: npm run prove -- verify ${Object.keys(proofs).join(' | ')}\n`);
    return 2;
  }
  const line = await onSite(proof, interruption());
  if (line !== undefined) say(line);
  return line === undefined ? 1 : 0;
});
