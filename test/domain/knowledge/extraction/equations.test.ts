import { expect } from 'chai';
import { wordOf } from '../../../toolkit/builders/office-xml.ts';
import { readHere, refusalOf } from '../../../toolkit/drive/extracting.ts';

const r = (text: string, properties = '') => `<m:r>${properties}<m:t>${text}</m:t></m:r>`;
const of = (name: string, ...parts: (readonly [string, string])[]) =>
  `<m:${name}>${parts.map(([part, inside]) => `<m:${part}>${inside}</m:${part}>`).join('')}</m:${name}>`;
const set = (name: string, value: string): string => `<m:${name} m:val="${value}"/>`;

async function textOf(equation: string): Promise<string> {
  const body = `<w:p><w:r><w:t xml:space="preserve">so </w:t></w:r><m:oMath>${equation}</m:oMath></w:p>`;
  return (await readHere(wordOf(body))).passages[0]?.text.replace('so ', '') ?? '';
}

describe('an equation', () => {
  const e = (inside: string) => ['e', inside] as const;
  const nary = (properties: string, inside = r('i')) =>
    of('nary', ['naryPr', properties], ['sub', r('i=1')], ['sup', r('n')], e(inside));
  const matrix = `<m:m><m:mr><m:e>${r('1')}</m:e><m:e>${r('0')}</m:e></m:mr><m:mr><m:e>${r('0')}</m:e><m:e>${r('1')}</m:e></m:mr></m:m>`;
  for (const [what, equation, text] of [
    ['a fraction', of('f', ['num', r('a+b')], ['den', r('c')]), '(a+b)/(c)'],
    ['a binomial', of('d', e(of('f', ['fPr', set('type', 'noBar')], ['num', r('n')], ['den', r('k')]))), '((n)¦(k))'],
    ['a square root', of('rad', ['radPr', set('degHide', '1')], ['deg', ''], e(r('x'))), '√(x)'],
    ['a cube root', of('rad', ['deg', r('3')], e(r('x'))), '³√(x)'],
    ['a power', r('y=') + of('sSup', e(r('x')), ['sup', r('2')]), 'y=x²'],
    ['a power of a power', of('sSup', e(r('e')), ['sup', of('sSup', e(r('x')), ['sup', r('2')])]), 'e^(x²)'],
    ['a power whose exponent is a letter', of('sSup', e(r('x')), ['sup', r('e')]), 'x^e'],
    ['a prime', of('sSup', e(r('f')), ['sup', r('′')]), 'f′'],
    ['an index', of('sSub', e(r('v')), ['sub', r('0')]), 'v₀'],
    ['an index and a power', of('sSubSup', e(r('x')), ['sub', r('i')], ['sup', r('2')]), 'x_i²'],
    ['signs before', of('sPre', ['sub', r('6')], ['sup', r('14')], e(r('C'))), '₆¹⁴C'],
    ['a sum', nary(set('chr', '∑')), '∑_(i=1)^(n) i'],
    ['an integral whose sign is not stated', nary(''), '∫_(i=1)^(n) i'],
    ['an integral without limits', nary(set('subHide', '1') + set('supHide', '1'), r('x dx')), '∫ x dx'],
    ['a function', of('func', ['fName', r('sin')], e(of('d', e(r('x'))))), 'sin(x)'],
    ['a function without brackets', of('func', ['fName', r('cos')], e(r('x'))), 'cos x'],
    ['a limit', of('func', ['fName', of('limLow', e(r('lim')), ['lim', r('x→0')])], e(r('x'))), 'lim_(x→0) x'],
    ['words above', of('limUpp', e(r('=')), ['lim', r('def')]), '=^(def)'],
    [
      'brackets with other signs',
      of('d', ['dPr', set('begChr', '[') + set('endChr', ')') + set('sepChr', ';')], e(r('a')), e(r('b'))),
      '[a;b)',
    ],
    [
      'a bracket on one side only',
      of('d', ['dPr', set('begChr', '{') + set('endChr', '')], e(of('eqArr', e(r('x&amp;=1')), e(r('y&amp;=2'))))),
      '{x=1; y=2',
    ],
    ['a matrix', matrix, '[1, 0; 0, 1]'],
    ['a matrix in brackets', of('d', e(matrix)), '(1, 0; 0, 1)'],
    ['an accent', of('acc', e(r('x'))), 'x̂'],
    ['an arrow as an accent', of('acc', ['accPr', set('chr', '→')], e(r('v'))), 'v⃗'],
    ['an accent over several letters', of('acc', ['accPr', set('chr', '~')], e(r('AB'))), '(AB)̃'],
    ['a bar above', of('bar', ['barPr', set('pos', 'top')], e(r('z'))), 'z̅'],
    ['a bar below', of('bar', e(r('z'))), 'z̲'],
    ['a brace', of('limLow', e(of('groupChr', e(r('a+b')))), ['lim', r('n')]), '⏟(a+b)_(n)'],
    ['a box', of('borderBox', e(of('box', e(r('x=1'))))), 'x=1'],
    ['an invisible part', of('phant', ['phantPr', set('show', '0')], e(r('x'))) + r('y'), 'y'],
    ['letters with double strokes', r('x∈R', `<m:rPr>${set('scr', 'double-struck')}</m:rPr>`), 'x∈ℝ'],
    ['deleted letters', `<w:del>${r('a')}</w:del><w:ins>${r('b')}</w:ins>`, 'b'],
  ] as const)
    it(`with ${what} becomes ${text}`, async () => expect(await textOf(equation)).to.equal(text.normalize('NFC')));

  it('keeps all its letters in reading order', async () => {
    const root = of('rad', ['radPr', set('degHide', '1')], e(of('sSup', e(r('b')), ['sup', r('2')]) + r('-4ac')));
    expect(await textOf(r('x=') + of('f', ['num', r('-b±') + root], ['den', r('2a')]))).to.equal(
      'x=(-b±√(b²-4ac))/(2a)',
    );
  });

  it('can stand in a paragraph, after another equation, or alone', async () => {
    const para = `<w:p><m:oMathPara><m:oMath>${r('a=1')}</m:oMath><m:oMath>${r('b=2')}</m:oMath></m:oMathPara></w:p>`;
    expect((await readHere(wordOf(para))).passages[0]?.text).to.equal('a=1 b=2');
  });

  it('is refused as file_corrupt if its elements are nested too deep', async () => {
    const deep = '<m:f><m:num>'.repeat(5_000) + r('a') + '</m:num></m:f>'.repeat(5_000);
    expect(await refusalOf(wordOf(`<w:p><m:oMath>${deep}</m:oMath></w:p>`))).to.equal('file_corrupt');
  }).timeout(30_000);
});
