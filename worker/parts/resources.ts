/** Opens the resources of a worker process: database, vault, object store, SMTP servers and connections to receivers. */
import { readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import type { Config } from '../../config.ts';
import type { Build } from '../../platform/infra/build.ts';
import { describeError } from '../../platform/infra/describe-error.ts';
import { createEgress, type Egress } from '../../platform/infra/egress/egress.ts';
import { openVault } from '../../platform/infra/keys/open-vault.ts';
import { createObjectStore, type ObjectStore } from '../../platform/infra/store/object-store.ts';
import { beginRunning } from '../../platform/infra/postgres/checks/contractions.ts';
import { Database } from '../../platform/infra/postgres/database.ts';
import { createNotifier } from '../../platform/infra/postgres/notifications.ts';
import { openDatabase } from '../../platform/infra/process.ts';
import {
  campaignConnections,
  createSmtpHandOver,
  type SmtpHandOver,
} from '../../platform/infra/smtp/smtp-hand-over.ts';
import { createSmtpSender, smtpConnections, type SmtpSender } from '../../platform/infra/smtp/smtp.ts';
import type { Vault } from '../../platform/infra/keys/vault.ts';
import { connectionsForRecords } from '../lanes/record-permits.ts';

export interface Resources {
  db: Database;
  vault: Vault;
  egress: Egress;
  smtp: {
    transactional: SmtpSender;
    bulk: SmtpSender;
    campaigns: SmtpHandOver;
    automations: SmtpHandOver;
  };
  storage: ObjectStore;
  publicStorage: ObjectStore;
  close(): Promise<void>;
}

/** @throws StartProblem if the database or a key cannot be used */
export async function openResources(config: Config, build: Build | undefined, log: Logger): Promise<Resources> {
  const source = await openDatabase(config.database, 'club-worker', {
    reserved: Math.min(connectionsForRecords, Math.floor(config.database.poolSize / 2)),
  });
  const stopBeating = await beginRunning(source, { name: 'worker', build }, (error) =>
    log.warn({ error: describeError(error) }, 'the start of this process could not be recorded in Postgres'),
  );
  const notifier = createNotifier(source, (error) =>
    log.warn({ error: describeError(error) }, 'the relay was not notified; it polls'),
  );
  const db = new Database(source, notifier);
  const vault = await openVault(db, config);
  const egress = createEgress({
    allowedNetworks: config.egress.allowedNetworks,
    extraCa: config.egress.extraCaFile === undefined ? undefined : readFileSync(config.egress.extraCaFile, 'utf8'),
  });
  const bulkUrl = config.mail.bulkSmtpUrl;
  const smtp = {
    transactional: createSmtpSender(config.mail),
    bulk: createSmtpSender({ ...config.mail, smtpUrl: bulkUrl }),
    campaigns: createSmtpHandOver({ smtpUrl: bulkUrl, connections: campaignConnections }),
    automations: createSmtpHandOver({ smtpUrl: bulkUrl, connections: smtpConnections }),
  };
  const storage = createObjectStore(config.storage);
  const publicStorage = createObjectStore({ ...config.storage, privateBucket: config.storage.publicBucket });
  return {
    db,
    vault,
    egress,
    smtp,
    storage,
    publicStorage,
    async close() {
      await stopBeating();
      for (const server of Object.values(smtp)) server.close();
      storage.close();
      publicStorage.close();
      await egress.close();
      await source.destroy();
    },
  };
}
