module.exports = { printWidth: 120, singleQuote: true, trailingComma: 'all' };
