/** A secret of the service itself, sealed under the master key. */
import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('vault_secrets')
export class VaultSecret {
  /** `lasting key` is the key with which addresses are hashed. It does not change with the master key (ADR 40). */
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'vault_secrets_key' })
  name: string;

  /** The value in base64. It is sealed with the name of the secret as its context, so it opens only for this name. */
  @Column({ type: 'bytea' })
  sealed: Buffer;
}
