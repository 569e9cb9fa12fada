module.exports = { printWidth: 120, proseWrap: 'always', singleQuote: true, trailingComma: 'all' };
