/** A certificate's PDF in the private bucket. The row is written before the file, so that a removal always finds the file (DEC-56). */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Certificate } from './certificate.ts';

@Entity('certificate_files')
@Index('certificate_files_certificate', ['certificateId'])
@Index('certificate_files_erases_at', ['erasesAt'], { where: 'erases_at IS NOT NULL' })
export class CertificateFile {
  /** The key of the file. It contains the version and a digest of all printed data. */
  @PrimaryColumn({ type: 'text' })
  objectKey: string;

  @Column({ type: 'uuid' })
  certificateId: string;

  /** The beginning of the last write of the file. */
  @Column({ type: 'timestamptz' })
  putAt: Date;

  /** The time at which the bucket must erase the file. Null while the file is valid. */
  @Column({ type: 'timestamptz', nullable: true })
  erasesAt: Date | null;

  @ManyToOne(() => Certificate, { onDelete: 'CASCADE' })
  certificate: Relation<Certificate>;
}
