import { expect } from 'chai';
import {
  allOcrLanguages,
  ocrLanguagesOf,
  pageRanges,
  withOcr,
} from '../../../../domain/knowledge/indexing/ocr.policy.ts';
import type { SourceWarning } from '../../../../entities/knowledge/values.ts';
import { withWords } from '../../../../domain/knowledge/indexing/passage-words.policy.ts';

describe('the rules of OCR', () => {
  const passage = (page: number, text: string) =>
    withWords({ page, headings: [], blocks: [text], text, seconds: null });

  it('use the club’s language first, then the deployment’s languages, each once', () => {
    expect([
      ocrLanguagesOf('pt', undefined),
      ocrLanguagesOf('pt', 'eng+por+jpn'),
      ocrLanguagesOf('en', 'ara'),
      ocrLanguagesOf('pt-BR', undefined),
      ocrLanguagesOf('ar', 'eng'),
    ]).to.deep.equal(['por', 'por+eng+jpn', 'eng+ara', 'por', 'ara+eng']);
    expect(allOcrLanguages(undefined)).to.deep.equal(['eng', 'por', 'spa', 'fra', 'deu', 'ita', 'ara']);
  });

  it('write page numbers as ranges', () => {
    expect([pageRanges([4]), pageRanges([1, 2, 3, 7, 9, 10])]).to.deep.equal(['4', '1-3,7,9-10']);
  });

  it('put the pages that OCR read between the other pages', () => {
    const picture: SourceWarning = { code: 'page_is_a_picture', count: 1, pages: [2] };
    const first = { passages: [passage(1, 'one'), passage(3, 'three')], warnings: [picture] };
    const merged = withOcr(first, [2], { passages: [passage(2, 'two')], failed: [] });
    expect(merged.passages.map(({ text }) => text)).to.deep.equal(['one', 'two', 'three']);
    expect(merged.warnings).to.deep.equal([{ code: 'read_by_ocr', count: 1, pages: [2] }]);
  });

  it('count pages without words as pictures, and report the pages that failed', () => {
    const warnings: SourceWarning[] = [
      { code: 'page_is_a_picture', count: 3, pages: [2, 4, 5] },
      { code: 'part_skipped', count: 1, pages: [] },
    ];
    const found = { passages: [passage(2, 'two')], failed: [5] };
    const merged = withOcr({ passages: [], warnings }, [2, 4, 5], found);
    expect(merged.warnings).to.deep.equal([
      { code: 'page_is_a_picture', count: 2, pages: [4, 5] },
      { code: 'part_skipped', count: 1, pages: [] },
      { code: 'read_by_ocr', count: 1, pages: [2] },
      { code: 'ocr_failed', count: 1, pages: [5] },
    ]);
  });

  it('count all pages of a long file, and name the first hundred', () => {
    const scanned = Array.from({ length: 250 }, (_, at) => at + 1);
    const { warnings } = withOcr({ passages: [], warnings: [] }, scanned, { passages: [], failed: scanned });
    expect(warnings.map(({ code, count, pages }) => [code, count, pages.length])).to.deep.equal([
      ['page_is_a_picture', 250, 100],
      ['ocr_failed', 250, 100],
    ]);
  });
});
