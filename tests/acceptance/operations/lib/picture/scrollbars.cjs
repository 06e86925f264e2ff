const { Scrollbars } = require("./node_modules/react-custom-scrollbars-2/lib/index.js");
module.exports = Scrollbars;
module.exports.Scrollbars = module.exports.default = Scrollbars;
