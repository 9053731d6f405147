// Systems that the keys of a GeoTIFF define: what PROJ makes of them, and keys as they should not be.  What GDAL makes
// of the same files is in tests/python/test_raster_crs.py.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "format/tiff/crs.hpp"
#include "format/tiff/tiff.hpp"
#include "penstock/raster_info.hpp"

using namespace penstock;

namespace {

using Row = std::array<std::uint16_t, 4>;

/// Keys of the projection `method` on WGS 84, or of what else is said.
class MadeKeys {
 public:
  MadeKeys& code(tiff::Key key, std::uint16_t value) { return row({static_cast<std::uint16_t>(key), 0, 1, value}); }
  MadeKeys& number(tiff::Key key, double value) {
    keys_.numbers.push_back(value);
    const auto place = static_cast<std::uint16_t>(keys_.numbers.size() - 1);
    return row({static_cast<std::uint16_t>(key), 34736, 1, place});
  }
  MadeKeys& text(tiff::Key key, const std::string& value) {
    const auto place = static_cast<std::uint16_t>(keys_.texts.size());
    keys_.texts += value + "|";
    return row({static_cast<std::uint16_t>(key), 34737, static_cast<std::uint16_t>(value.size() + 1), place});
  }
  MadeKeys& row(const Row& row) {
    keys_.directory.insert(keys_.directory.end(), row.begin(), row.end());
    ++keys_.directory[3];
    return *this;
  }
  [[nodiscard]] Crs crs() const { return tiff::crs_of(keys_).value_or(Crs{}); }
  [[nodiscard]] std::string wkt() const { return crs_wkt(crs()).value(); }
  [[nodiscard]] std::string error() const {
    const auto wkt = crs_wkt(crs());
    return wkt ? "none: " + *wkt : wkt.error().message();
  }

 private:
  GeoKeys keys_{{1, 1, 0, 0}, {}, ""};
};

MadeKeys projected(std::uint16_t method) {
  using enum tiff::Key;
  MadeKeys keys;
  keys.code(GTModelType, 1).code(GeodeticCRS, 4326).code(ProjectedCRS, 32767).code(ProjMethod, method);
  return keys;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

using enum tiff::Key;

TEST(TiffCrs, AProjectionIsThatOfItsKeys) {
  const std::string wkt =
      projected(10).number(ProjCenterLong, 7.25).number(ProjCenterLat, 12.5).number(ProjFalseEasting, 3).wkt();
  EXPECT_TRUE(has(wkt, "METHOD[\"Lambert Azimuthal Equal Area\"")) << wkt;
  EXPECT_TRUE(has(wkt, "\"Latitude of natural origin\",12.5")) << wkt;
  EXPECT_TRUE(has(wkt, "\"Longitude of natural origin\",7.25")) << wkt;
  EXPECT_TRUE(has(wkt, "BASEGEOGCRS[\"WGS 84\"")) << wkt;
}

TEST(TiffCrs, ParametersStandInOneKeyOrAnother) {
  const std::string origin = projected(1).number(ProjNatOriginLong, 9).number(ProjNatOriginLat, 10).wkt();
  EXPECT_EQ(projected(1).number(ProjCenterLong, 9).number(ProjCenterLat, 10).wkt(), origin);
  EXPECT_EQ(projected(1).number(ProjFalseOriginLong, 9).number(ProjFalseOriginLat, 10).wkt(), origin);
}

TEST(TiffCrs, TheSwissMethodIsAnObliqueMercatorOfARightAngle) {
  const auto center = [](MadeKeys keys) { return keys.number(ProjCenterLong, 7.44).number(ProjCenterLat, 46.95); };
  const std::string swiss = center(projected(5)).wkt();
  EXPECT_EQ(swiss, center(projected(9815)).number(ProjAzimuthAngle, 90).number(ProjRectifiedGridAngle, 90).wkt());
  EXPECT_TRUE(has(swiss, "\"Angle from Rectified to Skew Grid\",90")) << swiss;
}

TEST(TiffCrs, OnASphereMethodsAreThoseOfASphere) {
  const auto on = [](double minor) {
    MadeKeys keys;
    keys.code(GTModelType, 1).code(GeodeticCRS, 32767).code(ProjectedCRS, 32767).code(ProjMethod, 10);
    return keys.number(EllipsoidSemiMajorAxis, 6371007.181).number(EllipsoidSemiMinorAxis, minor).wkt();
  };
  EXPECT_TRUE(has(on(6371007.181), "METHOD[\"Lambert Azimuthal Equal Area (Spherical)\"")) << on(6371007.181);
  EXPECT_TRUE(has(on(6350000), "METHOD[\"Lambert Azimuthal Equal Area\"")) << on(6350000);
}

TEST(TiffCrs, UnitsAreThoseOfTheKeys) {
  const std::string feet = projected(10).code(ProjLinearUnits, 9003).number(ProjFalseEasting, 30).wkt();
  EXPECT_TRUE(has(feet, "\"False easting\",30,LENGTHUNIT[\"US survey foot\",0.304800609601219")) << feet;
  const std::string own = projected(10)
                              .code(ProjLinearUnits, 32767)
                              .number(ProjLinearUnitSize, 2.5)
                              .text(ProjectedCitation, "LUnits = my \"rod\"")
                              .number(ProjFalseEasting, 30)
                              .wkt();
  EXPECT_TRUE(has(own, "\"False easting\",30,LENGTHUNIT[\"my rod\",2.5")) << own;
  MadeKeys grads;
  grads.code(GTModelType, 2)
      .code(GeodeticCRS, 32767)
      .code(GeogAngularUnits, 9105)
      .number(EllipsoidSemiMajorAxis, 6378249.2);
  grads.number(EllipsoidSemiMinorAxis, 6356515).number(PrimeMeridianLongitude, 2.59692129);
  EXPECT_TRUE(has(grads.wkt(), "PRIMEM[\"unknown\",2.59692129,ANGLEUNIT[\"grad\"")) << grads.wkt();
}

TEST(TiffCrs, ANameIsNoText) {
  EXPECT_EQ(projected(10).text(GTCitation, "a grid").crs().name, "a grid");
  EXPECT_EQ(projected(10).text(GTCitation, "a grid").text(ProjectedCitation, "PCS Name = b|LUnits = c").crs().name,
            "b");
  const Crs esri = MadeKeys()
                       .code(GTModelType, 32767)
                       .text(GTCitation, "World_Mollweide")
                       .text(GeodeticCitation, "GCS Name = WGS 84|Primem = Greenwich|")
                       .text(ProjectedCitation, "ESRI PE String = PROJCS[...]")
                       .crs();
  EXPECT_EQ(esri.name, "World_Mollweide");
}

TEST(TiffCrs, WhatIsNotKnownIsRefusedByKeyAndValue) {
  EXPECT_EQ(projected(2).error(), "the CRS: key 3075 (ProjMethod): 2 is no method that PROJ knows");
  EXPECT_EQ(projected(65535).error(), "the CRS: key 3075 (ProjMethod): 65535 is no method that PROJ knows");
  EXPECT_EQ(projected(8).number(ProjStdParallel1, 30).error(),
            "the CRS: key 3079 (ProjStdParallel2): is missing, which the projection needs");
  EXPECT_EQ(projected(10).code(ProjLinearUnits, 9102).error(),
            "the CRS: key 3076 (ProjLinearUnits): unit EPSG:9102 (degree) is no linear unit with a factor");
  EXPECT_EQ(projected(10).code(ProjLinearUnits, 9999).error(),
            "the CRS: key 3076 (ProjLinearUnits): PROJ's database has no unit EPSG:9999, or is not found");
  EXPECT_EQ(projected(10).code(ProjLinearUnits, 32767).error(),
            "the CRS: key 3077 (ProjLinearUnitSize): is missing or not positive: the size of a unit of the file's own");
  EXPECT_EQ(MadeKeys().code(GTModelType, 1).code(ProjectedCRS, 32767).code(GeodeticCRS, 4326).error(),
            "the CRS: key 3075 (ProjMethod): is missing: it says how the system projects");
  EXPECT_EQ(MadeKeys().code(GTModelType, 2).code(GeodeticCRS, 32767).error(),
            "the CRS: key 2057 (EllipsoidSemiMajorAxis): is missing, which the ellipsoid needs");
  EXPECT_EQ(projected(1).code(Vertical, 4326).error(), "the CRS: key 4096 (Vertical): WGS 84 is no vertical system");
}

TEST(TiffCrs, NumbersThatAreNoneAreRefusedByKey) {
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    EXPECT_TRUE(projected(10)
                    .number(ProjCenterLat, bad)
                    .error()
                    .ends_with("key 3089 (ProjCenterLat): " + std::string(std::isnan(bad) ? "nan" : "inf") +
                               " is no finite number"));
  EXPECT_EQ(projected(10).row({3089, 34736, 1, 7}).error(),
            "the CRS: key 3089 (ProjCenterLat): 1 numbers from place 7 on, where GeoDoubleParams hold 0");
  EXPECT_EQ(projected(10).row({3089, 34736, 65535, 0}).error(),
            "the CRS: key 3089 (ProjCenterLat): 65535 numbers from place 0 on, where GeoDoubleParams hold 0");
  EXPECT_EQ(projected(10).row({3089, 34736, 0, 0}).error(),
            "the CRS: key 3089 (ProjCenterLat): no number, where one is wanted");
  EXPECT_EQ(projected(10).row({3089, 0, 1, 45}).error(),
            "the CRS: key 3089 (ProjCenterLat): a number is wanted, which GeoDoubleParams hold");
  MadeKeys flat;
  flat.code(GTModelType, 2).code(GeodeticCRS, 32767).number(EllipsoidSemiMajorAxis, 6e6);
  EXPECT_EQ(MadeKeys(flat).number(EllipsoidInvFlattening, -3).error(),
            "the CRS: key 2059 (EllipsoidInvFlattening): no ellipsoid is that flat");
  EXPECT_EQ(MadeKeys(flat).number(EllipsoidSemiMinorAxis, -3).error(),
            "the CRS: key 2058 (EllipsoidSemiMinorAxis): an ellipsoid without extent");
}

TEST(TiffCrs, OfAKeyThatIsThereTwiceTheFirstCountsInAnyOrder) {
  const std::string wkt = projected(10).number(ProjCenterLat, 12.5).wkt();
  EXPECT_EQ(projected(10).number(ProjCenterLat, 12.5).number(ProjCenterLat, 80).code(ProjMethod, 7).wkt(), wkt);
  EXPECT_EQ(MadeKeys()
                .number(ProjCenterLat, 12.5)
                .code(ProjMethod, 10)
                .code(ProjectedCRS, 32767)
                .code(GeodeticCRS, 4326)
                .code(GTModelType, 1)
                .wkt(),
            wkt);
}

TEST(TiffCrs, TextsOfTheFileAreNamesOnly) {
  const std::string odd = "a\n\t\"],EXTENSION[\"PROJ4\",\"+init=/etc/passwd\"\x01\x7f";
  const std::string wkt = projected(10).text(GTCitation, odd).wkt();
  EXPECT_TRUE(wkt.starts_with("PROJCRS[\"a")) << wkt;
  EXPECT_TRUE(has(wkt, R"(""],EXTENSION[""PROJ4"",""+init=/etc/passwd"")")) << wkt;
  const auto esri = [](const std::string& text) {
    return MadeKeys().code(GTModelType, 32767).text(ProjectedCitation, "ESRI PE String = " + text).error();
  };
  EXPECT_TRUE(has(esri("no text"), "well-known text that PROJ does not take")) << esri("no text");
  EXPECT_TRUE(has(esri("+init=/etc/passwd:root"), "well-known text that PROJ does not take"));
  EXPECT_TRUE(has(esri("GEOGCS[\"x\",EXTENSION[\"PROJ4\",\"+init=/etc/passwd:root\"]]"), "EXTENSION"));
  EXPECT_TRUE(has(esri(std::string(30000, '[')), "well-known text that PROJ does not take"));
}

std::string there_and_back(const std::string& text) {
  const auto crs = parse_crs(text);
  return crs ? crs_wkt(*crs).value() : crs.error().message();
}

TEST(TiffCrs, ATextBecomesKeysThatSayTheSame) {
  const MadeKeys feet =
      projected(8).number(ProjStdParallel1, 30).number(ProjStdParallel2, 60.5).code(ProjLinearUnits, 9003);
  EXPECT_EQ(there_and_back(feet.wkt()), feet.wkt());
  const auto high = parse_crs(projected(10).code(Vertical, 5773).wkt());
  ASSERT_TRUE(high) << high.error().message();
  EXPECT_EQ(high->vertical_epsg, 5773U);
  const auto crs = parse_crs(projected(10).text(GTCitation, "a\"|\nb \u00e9").wkt());
  ASSERT_TRUE(crs) << crs.error().message();
  EXPECT_EQ(crs->name, "a\"|?b ??") << "keys are of ASCII";
  const auto& rows = crs->keys->directory;
  for (std::size_t at = 8; at < rows.size(); at += 4) EXPECT_LT(rows[at - 4], rows[at]) << "keys in order";
}

TEST(TiffCrs, ASystemIsSaidInManyWays) {
  const std::string wkt = there_and_back("+proj=laea +lat_0=12.5 +lon_0=7.25 +datum=WGS84");
  EXPECT_TRUE(has(wkt, "\"Latitude of natural origin\",12.5")) << wkt;
}

TEST(TiffCrs, ATextWithACodeIsThatCodeAndNeedsNoProj) {
  for (const char* const text : {"EPSG:32633", "epsg:32633", "32633", "PROJCS[\"x\",AUTHORITY[\"EPSG\",\"32633\"]]"})
    EXPECT_EQ(parse_crs(text)->epsg, 32633U) << text;
}

TEST(TiffCrs, ACodeOfACompoundIsTakenApart) {
  for (const char* const text : {"EPSG:9518", "EPSG:4326+3855"}) {  // a compound of EPSG's own, and one of two codes
    const auto crs = parse_crs(text);
    ASSERT_TRUE(crs) << crs.error().message();
    EXPECT_EQ(crs->epsg, 4326U) << text;
    EXPECT_EQ(crs->vertical_epsg, 3855U) << text;
  }
  EXPECT_EQ(parse_crs("EPSG:5555")->epsg, 25832U);
  EXPECT_TRUE(has(there_and_back("EPSG:102003"), "codes from 1024 to 32766")) << "a code of ESRI's";
  EXPECT_TRUE(has(there_and_back("0"), "codes from 1024 to 32766"));
  EXPECT_TRUE(has(there_and_back("EPSG:5773"), "EPSG:5773: keys of GeoTIFF have no words for a system of type"));
}

// A datum that ESRI's text calls otherwise, a parallel that only the text has words for.
TEST(TiffCrs, WhatKeysHaveNoWordsForIsATextOfEsri) {
  for (const char* const text : {"+proj=eck4 +lon_0=10 +ellps=bessel", "+proj=moll +lon_0=10 +datum=WGS84",
                                 "+proj=moll +lon_0=10 +a=6378249.2 +b=6356515"}) {
    const auto crs = parse_crs(text);
    ASSERT_TRUE(crs) << crs.error().message();
    EXPECT_TRUE(has(crs->keys->texts, "ESRI PE String = PROJCS[")) << crs->keys->texts;
    EXPECT_TRUE(has(crs_wkt(*crs).value(), "\"Longitude of natural origin\",10"));
  }
}

TEST(TiffCrs, WhatAFileCannotSayIsRefusedByReason) {
  EXPECT_TRUE(has(there_and_back("+proj=krovak +ellps=bessel"), "X_Scale")) << there_and_back("+proj=krovak");
  EXPECT_TRUE(has(there_and_back("+proj=longlat +datum=WGS84 +geoidgrids=egm96_15.gtx +vunits=m"), "heights"));
  EXPECT_TRUE(has(there_and_back("+proj=moll +ellps=GRS80 +towgs84=1,2,3"), "a shift to WGS 84 beside a text"));
  const std::string method =
      R"x(PROJCRS["x",BASEGEOGCRS["x",DATUM["x",ELLIPSOID["x",6378388,297]]],CONVERSION["x",METHOD["A method (variant B)"],
      PARAMETER["Scale factor at natural origin",1.05,SCALEUNIT["unity",1]]],CS[Cartesian,2],AXIS["(E)",east],
      AXIS["(N)",north],LENGTHUNIT["metre",1]])x";
  EXPECT_TRUE(has(there_and_back(method), "without a name of ESRI's")) << there_and_back(method);
  const std::string heights = R"(VERT_CS["x",VERT_DATUM["y",2005],UNIT["metre",1],AXIS["Up",UP]])";
  EXPECT_TRUE(has(there_and_back(heights), "a system of type VerticalCRS")) << there_and_back(heights);
  EXPECT_TRUE(has(there_and_back("+proj=longlat +ellps=bessel +nadgrids=x.gsb"), "its way to WGS 84"));
}

TEST(TiffCrs, HostileTextsAreRefused) {
  for (const std::string& no : {std::string(), std::string("no text"), std::string("/etc/passwd"), std::string(":"),
                                std::string("EPSG:"), std::string("EPSG:99999999999"), std::string("WGS 84:x")})
    EXPECT_EQ(parse_crs(no).error().code(), ErrorCode::invalid_argument) << no;
  EXPECT_TRUE(has(there_and_back("GEOGCS[\"x\",EXTENSION[\"PROJ4\",\"+init=/etc/passwd:root\"]]"), "names a file"));
  EXPECT_TRUE(has(there_and_back("+proj=longlat +init=/etc/passwd:root"), "names a file"));
  EXPECT_TRUE(has(there_and_back(R"({"type": "GeographicCRS", "name": "+\u0069nit=/etc/passwd"})"), "names a file"));
  EXPECT_TRUE(has(there_and_back(std::string("EPSG:32633\0", 11)), "a byte of 0"));
  EXPECT_TRUE(has(there_and_back(std::string(100'000, 'x')), "100000 bytes: at most"));
  EXPECT_FALSE(has(there_and_back("GEOGCS[\"std::bad_alloc\",x"), "out of memory"));
  std::string deep, brackets, json;
  for (int i = 0; i < 6'000; ++i) deep += "GEOGCS[\"x\",", brackets += "a[", json += "{\"a\":";
  for (const std::string& text :
       {deep, brackets, json, "PROJCS[\"" + std::string(60'000, 'x') + "\"]",
        std::string("GEOGCS[\"\xff\xfe\",DATUM[\"x\",SPHEROID[\"x\",6e6,300]],PRIMEM[\"x\",0],"
                    "UNIT[\"degree\",0.0174532925199433]]")})
    EXPECT_FALSE(parse_crs(text)) << text.substr(0, 40);
}

// Numbers that no ellipsoid has, and names that are longer than a file holds.
TEST(TiffCrs, WellKnownTextOfNoSystemIsRefused) {
  const auto geographic = [](const std::string& name, const std::string& axis) {
    return "GEOGCS[\"" + name + "\",DATUM[\"" + name + "\",SPHEROID[\"x\"," + axis +
           "]],PRIMEM[\"x\",0],UNIT[\"degree\",0.0174532925199433]]";
  };
  EXPECT_TRUE(parse_crs(geographic("x", "6370000,300")));
  for (const char* const axis : {"0,0", "-1,300", "1e999,300", "nan,300", "6370000,-300", "x,y"})
    EXPECT_FALSE(parse_crs(geographic("x", axis))) << axis;
  EXPECT_TRUE(has(there_and_back("GEOGCS[\"x\",DATUM[\"x\",SPHEROID[\"x\",6e6,300]],PRIMEM[\"x\",0],UNIT[\"x\",0]]"),
                  "a unit that is not larger than nothing"));
  const auto crs = parse_crs(geographic(std::string(32'000, 'x'), "6370000,300"));
  EXPECT_TRUE(!crs || crs_wkt(*crs)) << "what is written is read";
}

TEST(TiffCrs, AShiftIsOfThreeOrSevenNumbers) {
  MadeKeys keys = projected(10);
  keys.number(EllipsoidSemiMajorAxis, 1).row({2062, 34736, 1, 0});
  EXPECT_EQ(keys.error(), "the CRS: key 2062 (GeogTOWGS84): 1 numbers, where there are 3 or 7");
}

TEST(TiffCrs, KeysThatDefineAnotherSystemThanTheCodeAreNotBelieved) {
  Crs crs = projected(10).crs();
  ASSERT_TRUE(crs.keys);
  EXPECT_EQ(tiff::defining_keys(crs), &*crs.keys);
  crs.epsg = 32633;  // somebody gave it a code since
  EXPECT_EQ(tiff::defining_keys(crs), nullptr);
  EXPECT_TRUE(crs_wkt(crs).value().starts_with("PROJCRS[\"WGS 84 / UTM zone 33N\""));
}

TEST(TiffCrs, AnImageAndItsSystemAreTwoThings) {
  const Crs area = projected(10).code(GTRasterType, 1).crs(), point = projected(10).code(GTRasterType, 2).crs();
  EXPECT_EQ(area, point);
  EXPECT_EQ(area, projected(10).crs());
}

}  // namespace
