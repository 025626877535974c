/** A certificate's PDF in the private bucket. The row is written before the file, so that a removal finds the file (DEC-56). */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Certificate } from './certificate.ts';

@Entity('certificate_files')
@Index('certificate_files_certificate', ['certificateId'])
@Index('certificate_files_erases_at', ['erasesAt'], { where: 'erases_at IS NOT NULL' })
export class CertificateFile {
  /** Contains the version and a digest of everything that is printed. */
  @PrimaryColumn({ type: 'text' })
  objectKey: string;

  @Column({ type: 'uuid' })
  certificateId: string;

  /** When the last write of the file began. */
  @Column({ type: 'timestamptz' })
  putAt: Date;

  /** When the bucket must erase it; null while it is valid. */
  @Column({ type: 'timestamptz', nullable: true })
  erasesAt: Date | null;

  @ManyToOne(() => Certificate, { onDelete: 'CASCADE' })
  certificate: Relation<Certificate>;
}
