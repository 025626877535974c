/** A secret of the service itself, sealed under the master key. */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('vault_secrets')
export class VaultSecret {
  /** `lasting key`: what keyed hashes of addresses are made with, whatever the master key is (ADR 40). */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'vault_secrets_key' })
  name: string;

  /** In base64, sealed for the name. */
  @Column({ type: 'bytea' })
  sealed: Buffer;
}
