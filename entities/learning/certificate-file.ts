/** A certificate's PDF in the private bucket: the row stands before the file is put there, so that a removal finds it (DEC-56). */
import { Column, Entity, Index, ManyToOne, PrimaryColumn } from 'typeorm';
import type { Relation } from 'typeorm';
import { Certificate } from './certificate.ts';

@Entity('certificate_files')
@Index('certificate_files_certificate', ['certificateId'])
@Index('certificate_files_erases_at', ['erasesAt'], { where: 'erases_at IS NOT NULL' })
export class CertificateFile {
  /** Names the version, and a digest of all that is printed. */
  @PrimaryColumn({ type: 'text' })
  objectKey: string;

  @Column({ type: 'uuid' })
  certificateId: string;

  /** When somebody last began to put the file there. */
  @Column({ type: 'timestamptz' })
  putAt: Date;

  /** When the bucket must be asked to erase it; null while it is good. */
  @Column({ type: 'timestamptz', nullable: true })
  erasesAt: Date | null;

  @ManyToOne(() => Certificate, { onDelete: 'CASCADE' })
  certificate: Relation<Certificate>;
}
